"""Execute the notebooks of this folder and store their outputs: ``make notebooks``.

Each notebook runs in a temporary folder, so what it writes is removed. What differs from run to run
and from machine to machine, such as times and the version of Python, is not stored.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> Any:
    """Return a notebook with the outputs of running it now. An error in a cell raises it here."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=600,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        ).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def texts(notebook: Any) -> list[list[str]]:
    """Return the text of all outputs, a list per code cell. Pictures are left out."""
    return [
        [output.get("text") or output["data"]["text/plain"] for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main() -> None:
    """Execute all notebooks in place."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(execute(path), path)
        print(f"{path.name}: {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
