"""What a part of the fuzzer has tried, how it ended, and the faults that it found."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

FAULT = "fault"
MOST_FAULTS_SHOWN = 20


@dataclass
class Report:
    """How the cases of a part ended, for each of its subjects, such as a file format or a relation.

    Attributes
    ----------
    part : str
    seed : int
    outcomes : dict of str to Counter
        For each subject, the number of cases with each outcome. The outcome of a fault is `FAULT`.
    faults : list of str
        Each fault, with the subject and the number of the case.
    """

    part: str
    seed: int
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, subject: str, outcome: str, n_cases: int = 1) -> None:
        """Count cases that ended as they may."""
        self.outcomes.setdefault(subject, Counter())[outcome] += n_cases

    def add_fault(self, subject: str, number: int, what: str) -> None:
        """Count a case that must not end in this way."""
        self.add(subject, FAULT)
        self.faults.append(f"{subject}, case {number}: {what}")

    @property
    def n_cases(self) -> int:
        return sum(outcomes.total() for outcomes in self.outcomes.values())

    def __str__(self) -> str:
        kinds = [*sorted({kind for outcomes in self.outcomes.values() for kind in outcomes} - {FAULT}), FAULT]
        width = max(map(len, [self.part, *self.outcomes]))
        lines = [f"{self.part:{width}}" + "".join(f"{kind:>10}" for kind in ("cases", *kinds))]
        for subject, outcomes in self.outcomes.items():
            counts = (outcomes.total(), *(outcomes[kind] for kind in kinds))
            lines.append(f"{subject:{width}}" + "".join(f"{count:>10,}" for count in counts))
        lines.append(f"{self.n_cases:,} cases with seed {self.seed}, {len(self.faults):,} faults.")
        return "\n".join([*lines, *self.faults[:MOST_FAULTS_SHOWN]])


def numbers_for(seconds: float) -> Iterator[int]:
    """Yield the numbers of cases, 0, 1, 2, ..., until the time is over."""
    end = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())
