"""Which model simulated users would prefer, beside the offline metrics: the part of the summary, its tables, its words."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.plain import plain_id
from ltr_metrics._engine.rounding import difference_of
from ltr_metrics.analysis.comparison.settings import seed_from
from ltr_metrics.analysis.comparison.table import p_shown, shown, signed
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.interleaving.outcome import Outcome
from ltr_metrics.interleaving.simulation import simulate
from ltr_metrics.report.tables import Table

REQUIRED = inspect.Parameter.empty
OPTIONS: dict[str, Any] = {
    name: option.default
    for name, option in inspect.signature(simulate).parameters.items()
    if option.kind is option.KEYWORD_ONLY
} | {"ties": "random"}  # the rows may list the relevant documents first
AGREE, DISAGREE, ONE_TIED = "agree", "disagree", "one tied"
CELLS = (
    "Cells: share of the impressions that the row wins against the column, a tie counting one half; above .5 the row is preferred. "
    "credit: mean of an impression, of which only differences mean something."
)
SURE = (
    "+/=/-: impressions won, tied, lost. win share: of the impressions that one of the two wins; 95% interval by Clopper and Pearson. p: exact sign "
    "test, two-sided, of each pair alone. credit: mean difference an impression, p credit: paired t-test. They say whether the simulation was long enough to order "
    "the two, and nothing of other queries, other users or another order of tied documents."
)


@dataclass(frozen=True, eq=False)
class Online:
    """What was simulated, and how."""

    outcome: Outcome
    options: dict[str, Any]

    @classmethod
    def simulated(cls, queries: Mapping[str, Queries], scores: Mapping[str, Any], given: Mapping[str, Any]) -> Online:
        """Simulate; options that are not given are those of `simulate`, but that the order of equal scores is drawn."""
        options = _options(given)
        if len(scores) < 2:
            raise LtrValueError(
                f"online: two models or more are needed, whose rankings are mixed. There is {', '.join(map(repr, scores))} alone."
            )
        first, *others = (queries[name] for name in scores)
        if any(other is not first for other in others):
            raise LtrValueError(
                "online: rankings can be mixed where all models rank the same documents, of which the labels are known. Here each model has Queries "
                "of its own, as TREC runs do. Pass scores of all models for the same rows, with one Queries."
            )
        options["random_state"] = seed_from(options["random_state"])
        return cls(simulate(first, scores, **options), options)

    def to_dict(self, metric: str, mean: dict[str, float | None]) -> dict[str, Any]:
        """Return what a summary has of it, beside the means of a metric."""
        users, options = self.options["clicks"], self.options
        return self.outcome.to_dict() | {
            "clicks": {
                "click": list(users.click),
                "stop": list(users.stop),
                "stop_only_after_click": bool(users.stop_only_after_click),
                "examination": None if users.examination is None else list(users.examination),
            },
            "length": int(options["length"]),
            "rule": options["rule"],
            "method_options": {name: plain_id(value) for name, value in (options["method_options"] or {}).items()},
            "ties_of_scores": options["ties"],
            "seed": options["random_state"],
            "offline": {"metric": metric, "mean": mean} | self._agreement(mean),
        }

    def _agreement(self, mean: dict[str, float | None]) -> dict[str, Any]:
        """Return whether the means order the models as the clicks do: a word and the difference in the mean for each pair, in their order."""
        wins, words, differences = self.outcome.wins, [], []
        values = np.array([mean[model] for model in self.outcome.models], dtype=np.float64)  # NaN where it is undefined
        for i, j in zip(*np.triu_indices(len(values), 1), strict=True):
            difference = float(difference_of(values[i], values[j]))
            apart = abs(np.sign(wins[i, j] - wins[j, i]) - np.sign(difference))
            words.append(None if np.isnan(apart) else (AGREE, ONE_TIED, DISAGREE)[int(apart)])
            differences.append(None if np.isnan(difference) else difference)
        error = None if None in words else self.outcome.error(truth=dict(mean))  # type: ignore[arg-type]
        return {"differences": differences, "agreement": words, "error": error}


def _options(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise LtrTypeError(
            f'online must map options of simulate, as {{"method": "ppm", "clicks": ...}}. Got {given!r}.'
        )
    for name in given:
        if name not in OPTIONS:
            raise LtrTypeError(
                f"online has no option {name!r}.{did_you_mean(str(name), OPTIONS)} Options: {', '.join(OPTIONS)}."
            )
    options = OPTIONS | dict(given)
    missing = [name for name, value in options.items() if value is REQUIRED]
    if missing:
        raise LtrTypeError(
            f"online must say by which method rankings are mixed, and how users click: {' and '.join(map(repr, missing))} is missing, as in "
            '{"method": "ppm", "clicks": ClickModel.informational(grades=3)}.'
        )
    return options


# -- what is shown --------------------------------------------------------------------------------------------------------


def tables_of_online(summary: dict[str, Any]) -> list[Table]:
    """Return the matrix and the pairs."""
    online = summary["online"]
    offline = online["offline"]
    matrix = [
        [model, shown(offline["mean"][model]), shown(credit)]
        + ["-" if i == j else shown(share) for j, share in enumerate(shares)]
        for i, (model, credit, shares) in enumerate(
            zip(online["models"], online["credit"], online["preference"], strict=True)
        )
    ]
    header = ("model", offline["metric"], "credit", *online["models"])
    return [
        Table("Online preference (simulated)", header, matrix, f"{CELLS}\n{told(summary)}", n_words=1),
        Table(
            "Online preference, pair by pair",
            (
                "model",
                "other",
                "+/=/-",
                "win share",
                "interval",
                "p",
                "credit",
                "p credit",
                offline["metric"],
                "agreement",
            ),
            [_cells(*row) for row in zip(online["pairs"], offline["differences"], offline["agreement"], strict=True)],
            f"{SURE}\n{offline['metric']}: difference in the mean. {agreement_told(offline)}"
            + OF_PPM * (online["method"] == "ppm"),
        ),
    ]


def _cells(pair: dict[str, Any], difference: float | None, agreement: str | None) -> list[str]:
    return [
        pair["model"],
        pair["other"],
        "/".join(f"{pair[name]:,}" for name in ("wins", "ties", "losses")),
        shown(pair["win_share"]),
        f"[{shown(pair['win_share_low'])}, {shown(pair['win_share_high'])}]",
        p_shown(pair["p_wins"]),
        signed(pair["credit_difference"]),
        p_shown(pair["p_credit"]),
        signed(difference),
        agreement or "-",
    ]


OF_PPM = " Under PPM users without a preference give equal credit on average, and may give one model more wins: p credit tests it, p does not."


def told(summary: dict[str, Any]) -> str:
    """Return what was simulated, in two sentences."""
    online = summary["online"]
    weighted = ", by weight" if summary["options"]["weighted"] else ""
    options = "".join(f", {name}={value}" for name, value in online["method_options"].items())
    rule = "" if online["rule"] == "own" else f" (credit by {online['rule']})"
    return (
        f"This is predicted from the labels and a click model, not from clicks of users: {online['impressions']:,} "
        f"impression{'s' * (online['impressions'] != 1)} of queries drawn at random{weighted}, mixed by {online['method']}{options}{rule}, "
        f"up to {online['length']:,} documents shown, random state {online['seed']}. {_users(online['clicks'])}"
    )


def _users(clicks: dict[str, Any]) -> str:
    grades = ", ".join(map(str, range(len(clicks["click"]))))
    looking = (
        "look at the documents from the top"
        if clicks["examination"] is None
        else f"look at the places from the first on with probability {_listed(clicks['examination'])}"
    )
    if any(clicks["stop"]):
        where = "after a click" if clicks["stop_only_after_click"] else "after it, clicked or not,"
        stopping = f"and stop {where} with probability {_listed(clicks['stop'])}"
    else:
        stopping = "and never stop"
    return f"Users {looking}, click one of grade {grades} with probability {_listed(clicks['click'])}, {stopping}."


def _listed(probabilities: list[float]) -> str:
    return ", ".join(f"{one:g}" for one in probabilities)


def agreement_told(offline: dict[str, Any]) -> str:
    """Return on how many pairs clicks and metric disagree."""
    words, metric = offline["agreement"], offline["metric"]
    unknown = sum(word is None for word in words)
    tied = words.count(ONE_TIED)
    return (
        f"Clicks and {metric} disagree on the order of {words.count(DISAGREE):,} of {len(words):,} pair{'s' * (len(words) != 1)} of models"
        + (f"; {tied:,} {'is' if tied == 1 else 'are'} tied in one of the two alone" if tied else "")
        + (f"; of {unknown:,} nothing can be said, as {metric} is undefined" if unknown else "")
        + "."
    )
