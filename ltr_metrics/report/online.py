"""The predicted online preference between models: its part of the summary, its tables and its texts."""

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
PAIRS_HEADER = ("model", "other", "+/=/-", "win share", "interval", "p", "credit", "p credit")
MATRIX_NOTE = (
    "Cells: share of the impressions that the row wins against the column. A tie counts one half; above 0.5, users "
    "prefer the row. credit: mean per impression. Only differences in credit are meaningful."
)
PAIRS_NOTE = (
    "+/=/-: impressions won, tied, lost. win share: share of the impressions that are not tied, with its 95% "
    "Clopper-Pearson interval. p: exact sign test, two-sided, not corrected for the number of pairs. credit: mean "
    "difference per impression. p credit: paired t-test, not corrected either."
)
UNCERTAINTY_NOTE = (
    "Intervals and p-values show whether the simulation was long enough to order the two models. They do not cover "
    "other queries, other users or another order of tied documents."
)
PPM_NOTE = (
    " With PPM, users without a preference give equal credit on average, but may give one model more wins. So "
    "the p-value "
    "of the credit tests whether users have a preference, and that of the wins does not."
)


@dataclass(frozen=True, eq=False)
class Simulation:
    """The outcome of a simulation, and its options."""

    outcome: Outcome
    options: dict[str, Any]

    @classmethod
    def run(cls, queries: Mapping[str, Queries], scores: Mapping[str, Any], options: Any) -> Simulation:
        """Simulate with the defaults of `simulate`, except that the order of tied documents is random."""
        options = _check_options(options)
        if len(scores) < 2:
            raise LtrValueError(
                f"online: two or more models are needed to mix their rankings. Got only {', '.join(map(repr, scores))}."
            )
        first, *others = (queries[name] for name in scores)
        if any(other is not first for other in others):
            raise LtrValueError(
                "online: rankings can only be mixed if all models rank the same labelled documents. Here each "
                "model has "
                "its own Queries, like TREC runs. Pass the scores of all models for the same rows, with one Queries."
            )
        options["random_state"] = seed_from(options["random_state"])
        return cls(simulate(first, scores, **options), options)

    def to_dict(self, metric: str, mean: dict[str, float | None], *, higher_is_better: bool = True) -> dict[str, Any]:
        """Return the section of the summary, with the means of a metric and their agreement with the outcome."""
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
            "offline": {"metric": metric, "mean": mean} | self._agreement(mean, 1 if higher_is_better else -1),
        }

    def _agreement(self, mean: dict[str, float | None], sign: int) -> dict[str, Any]:
        """Return, for each pair, the difference in the mean, and whether it agrees with the clicks' verdict.

        ``sign`` is that of a better mean: 1 or -1.
        """
        wins, agreement, differences = self.outcome.wins, [], []
        values = np.array([mean[model] for model in self.outcome.models], dtype=np.float64)  # NaN if undefined
        for i, j in zip(*np.triu_indices(len(values), 1), strict=True):
            difference = float(difference_of(values[i], values[j]))
            distance = abs(np.sign(wins[i, j] - wins[j, i]) - sign * np.sign(difference))
            agreement.append(None if np.isnan(distance) else (AGREE, ONE_TIED, DISAGREE)[int(distance)])
            differences.append(None if np.isnan(difference) else difference)
        truth = {model: sign * value for model, value in mean.items() if value is not None}
        error = None if None in agreement else self.outcome.error(truth=truth)
        return {"differences": differences, "agreement": agreement, "error": error}


def _check_options(options: Any) -> dict[str, Any]:
    """Return the options with their defaults."""
    if not isinstance(options, Mapping):
        raise LtrTypeError(
            f'online must map options of simulate, as {{"method": "ppm", "clicks": ...}}. Got {options!r}.'
        )
    for name in options:
        if name not in OPTIONS:
            raise LtrTypeError(
                f"online has no option {name!r}.{did_you_mean(str(name), OPTIONS)} Options: {', '.join(OPTIONS)}."
            )
    completed = OPTIONS | dict(options)
    missing = [name for name, value in completed.items() if value is REQUIRED]
    if missing:
        raise LtrTypeError(
            "online must have a method that mixes the rankings and a click model: "
            f"{' and '.join(map(repr, missing))} is missing. Pass for example "
            '{"method": "ppm", "clicks": ClickModel.informational(grades=3)}.'
        )
    return completed


# -- tables -----------------------------------------------------------------------------------------------------------


def online_tables(summary: dict[str, Any]) -> list[Table]:
    """Return the matrix of preferences and the table of pairs."""
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
    pairs = zip(online["pairs"], offline["differences"], offline["agreement"], strict=True)
    pairs_note = f"{PAIRS_NOTE}\n{offline['metric']}: difference in the mean. {describe_agreement(online)}"
    return [
        Table(
            "Online preference (simulated)", header, matrix, f"{MATRIX_NOTE}\n{describe_simulation(summary)}", n_words=1
        ),
        Table(
            "Online preference by pair",
            (*PAIRS_HEADER, offline["metric"], "agreement"),
            [_pair_cells(*pair) for pair in pairs],
            pairs_note,
        ),
    ]


def _pair_cells(pair: dict[str, Any], difference: float | None, agreement: str | None) -> list[str]:
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


# -- texts ------------------------------------------------------------------------------------------------------------


def describe_simulation(summary: dict[str, Any]) -> str:
    """Describe the impressions, the method and the users of the simulation."""
    online = summary["online"]
    n = online["impressions"]
    queries = "queries drawn by weight" if summary["options"]["weighted"] else "randomly drawn queries"
    options = "".join(f", {name}={value}" for name, value in online["method_options"].items())
    rule = "" if online["rule"] == "own" else f" (credit by {online['rule']})"
    return (
        "This is a prediction from the labels and a click model, not from clicks of real users. It has "
        f"{n:,} impression{'s' * (n != 1)} of {queries}, mixed by {online['method']}{options}{rule}, with up to "
        f"{online['length']:,} documents per list and random seed {online['seed']}. {_describe_users(online['clicks'])}"
    )


def _describe_users(clicks: dict[str, Any]) -> str:
    examining = (
        "examine the documents from the top"
        if clicks["examination"] is None
        else f"examine the slots, from the first on, with probability {_join(clicks['examination'])}"
    )
    stopping = "never stop"
    if any(clicks["stop"]):
        after = "click" if clicks["stop_only_after_click"] else "document, clicked or not,"
        stopping = f"stop after a {after} with probability {_join(clicks['stop'])}"
    grades = ", ".join(map(str, range(len(clicks["click"]))))
    return (
        f"Users {examining}, click a document of grade {grades} with probability {_join(clicks['click'])}, "
        f"and {stopping}."
    )


def _join(probabilities: list[float]) -> str:
    return ", ".join(f"{one:g}" for one in probabilities)


def describe_agreement(online: dict[str, Any]) -> str:
    """Describe on how many pairs of models the clicks and the metric disagree, and what the p-values mean."""
    agreement, metric = online["offline"]["agreement"], online["offline"]["metric"]
    n_undefined, n_tied = agreement.count(None), agreement.count(ONE_TIED)
    pairs = f"pair{'s' * (len(agreement) != 1)} of models"
    sentences = [
        f"Clicks and {metric} disagree on the order of {agreement.count(DISAGREE):,} of {len(agreement):,} {pairs}."
    ]
    if n_tied:
        sentences.append(f"{n_tied:,} {'is' if n_tied == 1 else 'are'} tied in only one of the two.")
    if n_undefined:
        sentences.append(f"{n_undefined:,} cannot be compared, since {metric} is undefined.")
    return " ".join([*sentences, UNCERTAINTY_NOTE]) + (PPM_NOTE if online["method"] == "ppm" else "")
