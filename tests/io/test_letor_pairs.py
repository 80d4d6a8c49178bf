"""The core reads usual pairs of LETOR files as Python reads their numbers, and leaves all other text to Python."""

from __future__ import annotations

from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ltr_metrics._ranks.native import read_pairs
from ltr_metrics.io import letor, read_letor

digits = st.text("0123456789", max_size=22)
plain = st.builds("{}{}.{}".format, st.sampled_from(["", "-", "+"]), digits.filter(bool), digits)
powers = st.builds("{}{}{}".format, plain, st.sampled_from(["e", "E", "e+", "e-"]), st.integers(0, 400))
printed = st.floats(allow_nan=False, allow_infinity=False).map(repr)
rounded = st.builds("{:.{}g}".format, st.floats(1e-20, 1e20), st.integers(1, 19))


@st.composite
def halfway(draw: st.DrawFn) -> str:
    """A number near the middle between two neighbours, where rounding is hard."""
    low = draw(st.floats(1e-15, 1e15))
    with localcontext() as context:
        context.prec = draw(st.integers(15, 60))
        return format((Decimal(low) + Decimal(float(np.nextafter(low, np.inf)))) / 2, "f")


@pytest.mark.hypothesis
@given(st.lists(st.one_of(plain, powers, printed, rounded, halfway()), min_size=1))
@example(["9007199254740993", "9007199254740993.0", "900719925474099.3", "0.9007199254740993"])
@example(["-0", "0e999", "1e999", "-1e-999", "5.", "18446744073709551615", "18446744073709551616e-3"])
def test_values_are_those_that_python_reads(numbers: list[str]) -> None:
    text = " ".join(f"{i}:{number}" for i, number in enumerate(numbers, start=1)).encode()
    pairs, found = read_pairs(text), letor._pairs(text)
    assert pairs is not None
    assert found is not None
    assert [number.hex() for number in found.value.tolist()] == [float(number).hex() for number in numbers]
    assert found.number.tolist() == list(range(1, len(numbers) + 1))
    is_hard = [pair for pair, _ in pairs.left.tolist()]
    usual = [i for i, one in enumerate(numbers) if len(one) < 17 and "e" not in one.lower()]
    assert not set(usual) & set(is_hard)


@pytest.mark.hypothesis
@given(
    st.lists(st.lists(st.sampled_from(["1:0.5", "2:-3", "7:1e-3", "9:1", "12:.5"]), unique=True), min_size=1), st.data()
)
def test_damaged_text_is_read_as_by_python_or_not_at_all(lines: list[list[str]], data: st.DataObject) -> None:
    text = "\n".join(" ".join(line) for line in lines)
    for _ in range(data.draw(st.integers(0, 3))):
        at, size = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 1))
        text = text[:at] + data.draw(st.sampled_from([*"0123:. \n\t\r-+eExnaif_,\0\x0b", ""])) + text[at + size :]
    found, expected = letor._pairs(text.encode()), letor._unusual_pairs(text.encode())
    if found is not None and text.split():  # NumPy takes a text of white space for damaged
        assert expected is not None
        assert found.number.tolist() == expected.number.tolist()
        assert found.value.tobytes() == expected.value.tobytes()
        assert found.n_in_line.tolist() == expected.n_in_line.tolist()


def test_a_value_halfway_between_two_floats_is_left_to_python() -> None:
    pairs = read_pairs(b"1:9007199254740993.5 2:9007199254740993.0 3:1e23")
    assert pairs is not None
    assert pairs.left.tolist() == [[1, 23], [2, 44]]


@pytest.mark.parametrize(
    "text", ["1:", "1:x", "1:1:1", ":1", "1 :1", "1: 1", "1:.", "1:1e", "1:1\0", "2:1 1:1", "1:1 1:1", "1.0:1"]
)
def test_other_text_is_left_to_python(text: str) -> None:
    assert read_pairs(text.encode()) is None
    assert read_pairs(f"1:1\n{text}\n1:1".encode()) is None


@pytest.mark.parametrize("are_dense", [True, False])
def test_a_regular_file_is_read_by_the_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, are_dense: bool) -> None:
    X = np.random.default_rng(0).normal(size=(60, 5))
    X[np.arange(60) % 7 == 0, 1] = 0 if are_dense else 3
    pairs = [[f"{j}:{v!r}" for j, v in enumerate(row, start=1) if are_dense or j % 2 or v > 0] for row in X.tolist()]
    heads = [f"{i % 3} qid:{i // 6} " for i in range(60)]
    for name, step in (("ascending", 1), ("descending", -1)):  # the second one is left to Python
        (tmp_path / name).write_text(
            "".join(f"{head}{' '.join(line[::step])}\n" for head, line in zip(heads, pairs, strict=True))
        )
    expected = read_letor(tmp_path / "descending").X
    monkeypatch.setattr(letor, "_unusual_pairs", None)
    assert read_letor(tmp_path / "ascending").X.tobytes() == expected.tobytes()
    if are_dense:
        assert expected.tobytes() == X.tobytes()
