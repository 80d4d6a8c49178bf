"""Each convention against the systems that it is named after, as far as they are installed, on random queries.

`table.py` has a row for each system. `make conformance` installs those that the other tests do without.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator

import pytest

import ltr_metrics as ltr
from ltr_metrics.metrics.conventions import convention_of
from peers.harness import Difference, Peer, faults
from peers.table import PEERS
from peers.test_stored import KNOWN, RATED

pytestmark = pytest.mark.filterwarnings("ignore")
OF_MQ2008 = {"letor": ["ndcg", "map", "precision"]}  # what metrics/test_reference_mq2008.py compares


@pytest.fixture(scope="module", autouse=True)
def stop_spark() -> Iterator[None]:
    """Leave no session to the tests of Spark, which want their own."""
    yield
    spark = sys.modules.get("pyspark.sql")
    if spark is not None and (session := spark.SparkSession.getActiveSession()) is not None:
        session.stop()


def marked(peer: Peer) -> object:
    """Return a row as a parameter, with the marks of its test."""
    marks = [pytest.mark.integration, *([pytest.mark.slow] if peer.is_slow else [])]
    return pytest.param(peer, id=peer.name, marks=marks)


@pytest.mark.parametrize("peer", list(map(marked, PEERS)))
def test_the_convention_gives_the_numbers_of_the_peer(peer: Peer) -> None:
    if peer.missing:
        pytest.skip(f"{' and '.join(peer.missing)} not found")
    assert faults(peer) == []


def test_every_metric_of_every_convention_is_compared() -> None:
    """With its system, or with values that it has printed."""
    compared = {name: set(metrics) for name, metrics in OF_MQ2008.items()}
    compared["elasticsearch"] = {name for _, _, values in RATED.values() for name in values}
    for convention, names in [
        *((peer.convention, peer.metrics.values()) for peer in PEERS),
        *((convention, values) for convention, _, values in KNOWN.values()),
    ]:
        compared.setdefault(convention_of(convention).name, set()).update(names)
    assert compared.keys() == ltr.CONVENTIONS.keys()
    for name, convention in ltr.CONVENTIONS.items():
        if name != "default":  # which is no system
            assert convention.metrics.keys() <= {ltr.metric(one).NAME for one in compared[name]}, name


def test_a_difference_is_found() -> None:
    [original] = (peer for peer in PEERS if peer.name == "scipy")
    if original.missing:
        pytest.skip("scipy is not installed")
    few = dataclasses.replace(original, metrics={"kendalltau": "kendall"}, draws=original.draws[:1], n_queries=5)
    assert any("there" in fault for fault in faults(dataclasses.replace(few, metrics={"kendalltau": "spearman"})))
    unseen = Difference(frozenset({"kendalltau"}), "Nothing.", lambda query: False, 0.0)
    assert faults(dataclasses.replace(few, difference=unseen)) == ["The stated difference is no longer seen: Nothing."]
