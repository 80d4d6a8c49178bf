"""The simulated users of ``report --interleave --clicks``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ltr_metrics._engine.checks import whole_number
from ltr_metrics.cli.inputs import ModelSpecs
from ltr_metrics.errors import LtrValueError, did_you_mean, naming
from ltr_metrics.interleaving.clicks import PUBLISHED, PUBLISHED_GRADES, ClickModel

EXAMPLE = "0.4,0.7,0.9/0.1,0.3,0.5"


def simulation_settings(arguments: Mapping[str, Any], specs: ModelSpecs, form: str) -> dict[str, Any] | None:
    """Return the settings of the simulation; None without ``--interleave``."""
    method, clicks = arguments["interleave"], arguments["clicks"]
    sizes = {name: value for name in ("impressions", "length") if (value := arguments[name]) is not None}
    if method is None:
        unused = ["clicks"] * (clicks is not None) + list(sizes)
        if unused:
            raise LtrValueError(f"--{unused[0]} describes simulated users, which need a method: --interleave.")
        return None
    if clicks is None:
        raise LtrValueError("--interleave needs simulated users: --clicks, such as --clicks informational:3.")
    if form == "csv":
        raise LtrValueError("--interleave has no result per query, and csv has nothing else. Use another --format.")
    if specs.runs:
        raise LtrValueError(
            "--interleave needs rankings of the same labelled documents, and each TREC run retrieves its own. Score "
            "all documents with each model, and pass them as DATA with --scores or --model."
        )
    if len(specs.names) < 2:
        raise LtrValueError("--interleave needs two models or more.")
    seed = arguments["random_state"]
    return {"method": method, "clicks": click_model(clicks), "random_state": seed} | sizes


def click_model(text: str) -> ClickModel:
    """Return the users that ``NAME:GRADES`` or ``CLICK,.../STOP,...`` describes.

    Examples
    --------
    >>> from ltr_metrics.cli.simulated_users import click_model
    >>> click_model("0.1,0.9/0,0.5") == click_model("0.1,0.9/0.0,.5")
    True
    >>> click_model("navigational:2").click
    (0.05, 0.95)
    """
    name, colon, grades = text.partition(":")
    if colon:
        return _published(text, name, grades)
    click, slash, stop = text.partition("/")
    probabilities = _probabilities(text, click)
    with naming(f"--clicks {text}"):
        return ClickModel(probabilities, _probabilities(text, stop) if slash else 0.0)


def _published(text: str, name: str, grades: str) -> ClickModel:
    if name not in PUBLISHED:
        raise LtrValueError(
            f"--clicks has no users {name!r}.{did_you_mean(name, PUBLISHED)} Use one of {', '.join(PUBLISHED)}, or "
            f"give probabilities, such as {EXAMPLE}."
        )
    n_grades = whole_number(grades) or 0
    if n_grades < 1 or (name != "random" and n_grades not in PUBLISHED_GRADES):
        allowed = "1 or more" if name == "random" else "2, 3 or 5"
        raise LtrValueError(
            f"--clicks {name}:GRADES must give the number of grades, {allowed}, as in {name}:3. Got {text!r}. "
            f"For other numbers, give one probability per grade, such as {EXAMPLE}."
        )
    users: ClickModel = getattr(ClickModel, name)(grades=n_grades)
    return users


def _probabilities(text: str, listed: str) -> list[float]:
    try:
        return [float(number) for number in listed.split(",")]
    except ValueError:
        raise LtrValueError(
            "--clicks must be NAME:GRADES, such as informational:3, or the click probability of each grade and, after "
            f"a slash, the probability of stopping, such as {EXAMPLE}. Got {text!r}."
        ) from None
