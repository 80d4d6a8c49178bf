"""Names of other systems: each leads to our name in the error."""

from __future__ import annotations

import re

import pytest

import ltr_metrics as ltr
from ltr_metrics.metrics.other_names import OTHER_NAMES, OtherName


@pytest.mark.parametrize("other", OTHER_NAMES, ids=lambda other: other.theirs)
def test_each_name_leads_to_a_metric(other: OtherName) -> None:
    ours = other.ours.format(k="@10" if "{k}" in other.theirs else "")
    assert isinstance(ltr.metric(ours), ltr.Metric)
    for theirs in {other.theirs.format(k=k) for k in ("@10", ":top=10", "_10", ".10")}:
        with pytest.raises(ltr.LtrValueError, match=re.escape(f"{theirs!r} of {other.system} is {ours!r} here")):
            ltr.metric(theirs)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("P_10", "Write p@10."),
        ("NDCG:top=10", "Write ndcg@10."),
        ("iprec_at_recall_0.10", "is 'iprec(recall=0.1)' here"),
        ("ndcg10", "Write ndcg@10."),
        ("rbp.95", "'rbp.95' of ranx is 'rbp(p=0.95)' here."),
        ("P10", "Write p@10."),
        ("mean_average_precision", "Did you mean 'average_precision'"),
    ],
)
def test_near_names_are_suggested(name: str, message: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=re.escape(message)):
        ltr.metric(name)


def test_a_name_of_another_system_never_hides_one_of_ours() -> None:
    ours = {name for info in ltr.available_metrics() for name in (info.name, *info.aliases)}
    assert not ours & {other.theirs.format(k="") for other in OTHER_NAMES}
