"""The simulated users of the command line."""

from __future__ import annotations

from typing import Any

from ltr_metrics._engine.checks import whole_number
from ltr_metrics.cli.inputs import Named
from ltr_metrics.errors import LtrValueError, did_you_mean, naming
from ltr_metrics.interleaving.clicks import PUBLISHED, PUBLISHED_GRADES, ClickModel

FURTHER = {
    "impressions": "--impressions",
    "length": "--length",
}  # options of --interleave, and what simulate calls them


def online_of(given: dict[str, Any], items: Named, form: str, random_state: int) -> dict[str, Any] | None:
    """Take out what is to be simulated, None if nothing is; refuse, before the work is done, what cannot be."""
    method, clicks = given.pop("interleave"), given.pop("clicks")
    further = {name: value for name in FURTHER if (value := given.pop(name)) is not None}
    if method is None:
        named = ["--clicks"] * (clicks is not None) + [FURTHER[name] for name in further]
        if named:
            raise LtrValueError(f"{named[0]} is of simulated users, who need a method: --interleave.")
        return None
    if clicks is None:
        raise LtrValueError("--interleave needs users who click: --clicks, such as --clicks informational:3.")
    if form == "csv":
        raise LtrValueError(
            "--interleave has no part in csv, which has the values of each query: take another --format."
        )
    if items.runs:
        raise LtrValueError(
            "--interleave mixes rankings of the same documents, whose labels are known, and TREC runs retrieve documents of their own: score all "
            "documents with each model and pass them as DATA, with --scores or --model."
        )
    if len(items.names) < 2:
        raise LtrValueError("--interleave needs two models or more, whose rankings are mixed.")
    return {"method": method, "clicks": click_model(clicks), "random_state": random_state} | further


def click_model(text: str) -> ClickModel:
    """Return the users that ``NAME:GRADES`` or ``CLICK,.../STOP,...`` names.

    Examples
    --------
    >>> from ltr_metrics.cli.online import click_model
    >>> click_model("0.1,0.9/0,0.5") == click_model("0.1,0.9/0.0,.5")
    True
    >>> click_model("navigational:2").click
    (0.05, 0.95)
    """
    name, colon, grades = text.partition(":")
    if colon:
        return _published(text, name, grades)
    click, slash, stop = text.partition("/")
    probabilities = _numbers(text, click)
    with naming(f"--clicks {text}"):
        return ClickModel(probabilities, _numbers(text, stop) if slash else 0.0)


def _published(text: str, name: str, grades: str) -> ClickModel:
    if name not in PUBLISHED:
        raise LtrValueError(
            f"--clicks: there are no users {name!r}.{did_you_mean(name, PUBLISHED)} There are {', '.join(PUBLISHED)}; or give probabilities, "
            "such as 0.4,0.7,0.9/0.1,0.3,0.5."
        )
    n_grades = whole_number(grades) or 0
    if n_grades < 1 or (name != "random" and n_grades not in PUBLISHED_GRADES):
        known = "1 or more" if name == "random" else "2, 3 or 5"
        raise LtrValueError(
            f"--clicks {name}:GRADES must say how many grades there are, {known}, as in {name}:3. Got {text!r}. For others give the "
            "probabilities, one a grade, such as 0.4,0.7,0.9/0.1,0.3,0.5."
        )
    made: ClickModel = getattr(ClickModel, name)(grades=n_grades)
    return made


def _numbers(text: str, listed: str) -> list[float]:
    try:
        return [float(one) for one in listed.split(",")]
    except ValueError:
        raise LtrValueError(
            "--clicks must be NAME:GRADES, such as informational:3, or probabilities by grade, of a click and, behind a slash, of stopping, such as "
            f"0.4,0.7,0.9/0.1,0.3,0.5. Got {text!r}."
        ) from None
