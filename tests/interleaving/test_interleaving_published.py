"""The published experiment on MQ2008, and the command that reproduces it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.interleaving import PUBLISHED, Fold, cell, folds, outcomes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mq2008(data: Path) -> list[Fold]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LTR_METRICS_DATA", str(data))
        return folds()


@pytest.mark.parametrize(("user", "method"), PUBLISHED)
def test_the_published_errors_are_reproduced(user: str, method: str, mq2008: list[Fold]) -> None:
    ours = cell(outcomes(mq2008, user, method, n_runs=25, impressions=10_000))
    assert 0.001 < ours.standard_error < 0.008
    assert ours.agrees(*PUBLISHED[user, method]), ours
    assert not ours._replace(error=ours.error + 0.03).agrees(*PUBLISHED[user, method])
