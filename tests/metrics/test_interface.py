"""The structs that Python passes to the compiled core, which `interface.hpp` declares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ltr_metrics._ranks import native

SOURCE = Path(native.__file__).with_name("interface.hpp")


@pytest.mark.parametrize(("name", "struct"), [("Documents", native._Documents), ("Declaration", native._Declaration)])
def test_the_fields_are_those_of_the_source(name: str, struct: type[native.Struct]) -> None:
    body = re.search(rf"struct {name} \{{(.*?)\n\}};", SOURCE.read_text(encoding="utf-8"), re.DOTALL)
    assert body
    declared = re.findall(r"(\w+);", re.sub(r"//.*", "", body[1]))
    assert [(field, getattr(struct, field).offset) for field in declared] == [
        (f, 8 * i) for i, f in enumerate(declared)
    ]


def test_a_field_that_the_core_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="Declaration has no field 'scale'"):
        native._Declaration(scale=None)


def test_a_struct_with_other_offsets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_names", lambda of: {"n": 0, "m": 4})
    with pytest.raises(ImportError, match="not numbers and pointers of 64 bits: .*'m': 4"):
        native._struct("Other", 0)
