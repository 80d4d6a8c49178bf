"""The fuzzer of the adapters: it finds nothing in them, and it finds every fault that is planted in them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr

pytest.importorskip("xgboost", reason="xgboost is not installed")
import lightgbm as lgb
import xgboost as xgb

from fuzz import host_searches, host_trainings, hosts
from fuzz.host_setups import Part, Question, Style, differs, unequal_values
from ltr_metrics import _hosts
from ltr_metrics.evaluation.log.training import TrainingLog
from ltr_metrics.sklearn import scorer
from ltr_metrics.sklearn.scorer import QueryScorer

pytestmark = [pytest.mark.slow, pytest.mark.integration]


def cases_of(subject: str, n_cases: int) -> range:
    step = len(hosts.SUBJECTS)
    return range(hosts.SUBJECTS.index(subject), n_cases * step, step)


def test_nothing_is_found(tmp_path: Path) -> None:
    """What `make fuzz` runs for longer."""
    report = hosts.run(0, range(16 * len(hosts.SUBJECTS)), tmp_path)
    assert not report.faults, str(report)
    assert list(report.outcomes) == list(hosts.SUBJECTS)
    assert all(outcomes.total() == 16 and outcomes["equal"] > 12 for outcomes in report.outcomes.values())
    assert sum(outcomes["refused"] for outcomes in report.outcomes.values()) > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("subject", hosts.SUBJECTS)
def test_a_case_depends_on_its_number_alone(subject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = cases_of(subject, 2)
    _plant_small_change(monkeypatch)
    together, alone = hosts.run(5, [first, second], tmp_path), hosts.run(5, [second], tmp_path)
    assert len(together.faults) == 2
    assert together.faults[1:] == alone.faults
    assert alone.faults != hosts.run(6, [second], tmp_path).faults


def _plant_small_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log each value 1e-4 too high."""
    named, score = _hosts.Plan.named, QueryScorer.__call__

    def higher(values: Any) -> Any:
        return {name: value + 1e-4 for name, value in values.items()} if isinstance(values, dict) else values + 1e-4

    monkeypatch.setattr(_hosts.Plan, "named", lambda self, mean: higher(named(self, mean)))
    monkeypatch.setattr(  # of which one metric alone has no name
        QueryScorer,
        "__call__",
        lambda self, *given,
            **routed: score(self, *given, **routed) if not self.single else higher(score(self, *given, **routed)),
    )  # fmt: skip


def _plant_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log each metric's values under the next one's name."""
    named = _hosts.Plan.named

    def shifted(self: _hosts.Plan, mean: Any) -> dict[str, float]:
        values = named(self, mean)
        return dict(zip(values, [*list(values.values())[1:], 0.123], strict=True))

    monkeypatch.setattr(_hosts.Plan, "named", shifted)


def _plant_other_values_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    values = TrainingLog.values
    monkeypatch.setattr(TrainingLog, "values", lambda self, data, metric: values(self, data, metric) + 1e-9)


def _plant_other_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    qid = TrainingLog.qid
    monkeypatch.setattr(TrainingLog, "qid", lambda self, data: qid(self, data)[::-1])


def _plant_late_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, after = lgb.early_stopping, xgb.callback.EarlyStopping.after_iteration
    monkeypatch.setattr(lgb, "early_stopping", lambda rounds, **options: stop(rounds + 1, **options))
    monkeypatch.setattr(
        xgb.callback.EarlyStopping, "after_iteration", lambda self, *given: after(self, *given) and False
    )


def _plant_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ltr.Queries
    for name in ("lightgbm", "xgboost.custom_metric", "xgboost.monitor"):
        monkeypatch.setattr(
            sys.modules[f"ltr_metrics.{name}"],
            "Queries",
            lambda y, **given: plain(y, **{k: v for k, v in given.items() if "weight" not in k}),
        )


def _plant_other_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = _hosts.resolve
    monkeypatch.setattr(
        _hosts, "resolve", lambda asked, ties, **options: resolve(asked, ties="worst" if ties else "best", **options)
    )


def _plant_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(result: Any) -> None:
        raise ltr.LtrValueError("planted")

    for module in (_hosts, scorer):
        monkeypatch.setattr(module, "refuse_undefined_means", refuse)


def _plant_another_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(result: Any) -> None:
        raise ZeroDivisionError("planted")

    for module in (_hosts, scorer):
        monkeypatch.setattr(module, "refuse_undefined_means", fail)


@pytest.mark.parametrize("subject", hosts.SUBJECTS)
@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (_plant_small_change, r"log's|fold"),
        (_plant_refusal, "refused, and evaluate gives a value: planted"),
        (_plant_another_error, "ZeroDivisionError: planted"),
    ],
)
def test_what_is_planted_everywhere_is_found_everywhere(
    subject: str, plant: Callable[..., None], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    report = hosts.run(0, cases_of(subject, 3), tmp_path)
    assert report.outcomes[subject]["equal"] == 0
    assert report.faults
    for number, fault in zip(cases_of(subject, 3), report.faults, strict=True):
        assert fault.startswith(f"{subject}, case {number}: ")
        assert any(part in fault for part in message.split("|"))
        assert "Question(metrics=[" in fault  # the options of the case


@pytest.mark.parametrize("subject", hosts.TRAININGS)
@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (_plant_other_names, "the log's "),
        (_plant_other_values_of_queries, "the PerQueryLog's "),
        (_plant_other_queries, "the PerQueryLog has the queries "),
        (_plant_late_stop, " rounds of which "),
        (_plant_no_weights, "the log's "),
        (_plant_other_ties, "log's "),
    ],
)
def test_what_is_planted_in_trainings_is_found(
    subject: str, plant: Callable[..., None], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    report = hosts.run(0, cases_of(subject, 8), tmp_path)
    assert any(message in fault for fault in report.faults), str(report)


@pytest.mark.parametrize("subject", host_searches.SEARCHES)
@pytest.mark.parametrize("plant", [_plant_other_names, _plant_other_ties])
def test_what_is_planted_in_searches_is_found(
    subject: str, plant: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    report = hosts.run(0, cases_of(subject, 6), tmp_path)
    assert any("fold " in fault for fault in report.faults), str(report)


@pytest.mark.parametrize("subject", hosts.SUBJECTS)
def test_a_missing_refusal_is_found(subject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No document is relevant, so that no query has a value."""
    part = Style.part

    def without_relevant(*given: Any, **options: Any) -> Part:
        drawn = part(*given, **options)
        return replace(drawn, y=np.zeros_like(drawn.y))

    monkeypatch.setattr(Style, "part", without_relevant)
    for module in (host_trainings, host_searches):
        monkeypatch.setattr(
            module, "draw_question", lambda *given, **options: Question(["mrr"], False, {}, "canonical")
        )
    (number,) = cases_of(subject, 1)
    assert hosts.run(0, [number], tmp_path).outcomes[subject] == {"refused": 1}
    for module in (_hosts, scorer):
        monkeypatch.setattr(module, "refuse_undefined_means", lambda result: None)
    (fault,) = hosts.run(0, [number], tmp_path).faults
    assert "and evaluate finds no mean" in fault


def test_an_error_of_the_drawing_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any, **options: Any) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(ltr, "evaluate", fail)
    assert hosts.run(0, [1], tmp_path).faults == ["LGBMRanker, case 1: ZeroDivisionError: planted"]


def test_how_numbers_are_compared() -> None:
    nan = float("nan")
    assert not differs([1.0, nan], [1.0 + 1e-13, nan])
    assert differs([1.0], [1.0 + 1e-11])
    assert differs([1.0], [nan])
    assert differs([1.0], [1.0, 2.0])
    assert not differs([1.0], [1.0 + 5e-7], tolerance=5.1e-7)
    assert (
        unequal_values("x", [1.0, 2.0, nan], [1.0, 2.5, nan])
        == "x is np.float64(2.0), expected np.float64(2.5), at (1,)"
    )
    assert unequal_values("x", [1.0, 2.0], [1.5, nan]).endswith("at (1,)")
    assert unequal_values("x", np.zeros(2), np.zeros(3)) == "x has the shape (2,), expected (3,)"


@pytest.mark.parametrize(
    ("curves", "patience", "n_rounds", "expected"),
    [
        ([[1.0, 3.0, 2.0, 3.0, 4.0]], 2, 5, (4, 2)),  # an equal value is no better
        ([[1.0, 3.0, 2.0, 2.0, 4.0]], 3, 5, (5, 5)),
        ([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], 2, 3, (3, 3)),  # the last round: the first curve decides
        ([[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 1.0]], 2, 4, (3, 1)),
    ],
)
def test_where_a_training_stops(curves: Any, patience: int, n_rounds: int, expected: tuple[int, int]) -> None:
    assert hosts.stopped(curves, patience, n_rounds) == expected
