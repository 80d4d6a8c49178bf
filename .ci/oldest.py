"""Print the oldest versions that pyproject.toml allows, as requirements for pip: what `make test-oldest` installs."""

from __future__ import annotations

import re
from pathlib import Path

import tomllib

WITHOUT_GRAPHICS_CARDS = {"xgboost": "xgboost-cpu"}  # the same module
PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("lightgbm", "xgboost", "catboost", "sklearn", "report", "dask")

for line in [*PROJECT["dependencies"], *(line for extra in EXTRAS for line in PROJECT["optional-dependencies"][extra])]:
    name, parts, oldest = re.fullmatch(r"([\w-]+)(\[[\w,]+\])?>=([\d.]+)", line).groups()
    print(f"{WITHOUT_GRAPHICS_CARDS.get(name, name)}{parts or ''}=={oldest}")
for line in PROJECT["optional-dependencies"]["test"]:
    if line.startswith(("pytest>", "pytest-", "hypothesis>", "hatchling>", "polars>", "selenium>", "statsmodels>")):
        print(line)
print("pyparsing<3.3")  # later ones warn of what the oldest Matplotlib calls, and warnings are errors
