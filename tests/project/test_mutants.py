"""The list of faults that `make mutants` tries stays true while the code changes."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "ltr_metrics").is_dir(), reason="the code is not beside the tests")


def test_each_fault_has_one_place_in_the_code() -> None:
    texts = {
        path: path.read_text(encoding="utf-8") for path in {ROOT / "ltr_metrics" / file for _, file, *_ in MUTANTS}
    }
    for tests, file, code, fault in MUTANTS:
        assert (ROOT / "tests" / tests).exists(), tests
        assert texts[ROOT / "ltr_metrics" / file].count(code) == 1, (file, code)
        assert code != fault
