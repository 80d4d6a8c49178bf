"""The list of faults that `make mutants` tries stays true while the code changes."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "ltr_metrics").is_dir(), reason="the code is not beside the tests")


@pytest.mark.parametrize(("tests", "file", "code", "fault"), MUTANTS)
def test_each_fault_has_one_place_in_the_code(tests: str, file: str, code: str, fault: str) -> None:
    assert (ROOT / "tests" / tests).exists()
    assert (ROOT / "ltr_metrics" / file).read_text(encoding="utf-8").count(code) == 1
    assert code != fault
