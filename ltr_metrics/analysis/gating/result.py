"""The result of a gate: its checks, printed as lines and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ltr_metrics._engine.plain import none_if_nan
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics.errors import one_line


@dataclass(frozen=True)
class Check(Printed):
    """One rule, applied to one model, over all queries or in one segment.

    Attributes
    ----------
    rule, model : str
    segment : str or None
        None over all queries.
    value : float
        The value that was compared with the limit: an end of the interval, or a share; NaN without
        one.
    limit : float
    passed : bool
    reason : str
    """

    rule: str
    model: str
    segment: str | None
    value: float
    limit: float
    passed: bool
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON; NaN is None."""
        return vars(self) | {"value": none_if_nan(self.value)}

    def printed_parts(self) -> list[Table]:
        return [_table_of((self,))]

    def __str__(self) -> str:
        """Return the verdict, the model, the rule and the reason, on one line."""
        where = "" if self.segment is None else f", {self.segment}"
        return one_line(f"{'PASS' if self.passed else 'FAIL'}  {self.model}{where}: {self.rule}: {self.reason}")


@dataclass(frozen=True)
class GateResult(Printed):
    """The checks of a gate; true if all of them passed.

    Attributes
    ----------
    checks : tuple of Check
        One per rule, model and segment, with ``rule``, ``model``, ``segment``, ``value``,
        ``limit``, ``passed`` and ``reason``.

    See Also
    --------
    gate : Return one of these.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> comparison = ltr.compare({"base": X[:, 1], "new": X[:, 0] + X[:, 1]}, y, qid=qid, metrics="map")
    >>> result = ltr.gate(comparison, ["map > 0", "map > 0.5"])
    >>> result.passed, bool(result), [check.passed for check in result.checks]
    (False, False, [True, False])
    >>> result.to_dict()["checks"][1]["limit"]
    0.5
    """

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            ``passed``, and the fields of each check.
        """
        return {"passed": self.passed, "checks": [check.to_dict() for check in self.checks]}

    def __str__(self) -> str:
        """Return a line a check."""
        return "\n".join(map(str, self.checks))

    def printed_parts(self) -> list[Table]:
        return [_table_of(self.checks)]


def _table_of(checks: Sequence[Check]) -> Table:
    """Return the checks as a table, which notebooks show; a line of text has the same parts."""
    by_segment = any(check.segment is not None for check in checks)
    rows = [
        ("PASS" if check.passed else "FAIL", check.model, *[check.segment or ""] * by_segment, check.rule, check.reason)
        for check in checks
    ]
    return Table(("", "model", *["segment"] * by_segment, "rule", "reason"), rows, align="l")
