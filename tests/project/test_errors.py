"""Errors in other processes, errors with the name of what they are about, and how pip finds an extra."""

from __future__ import annotations

import importlib.metadata
import json
import pickle
import shlex
from types import SimpleNamespace

import pytest

import ltr_metrics as ltr
from ltr_metrics.errors import naming


@pytest.mark.parametrize("cls", [ltr.LtrError, ltr.LtrValueError, ltr.LtrTypeError, ltr.LtrKeyError, ltr.LtrWarning])
def test_other_processes_get_the_message(cls: type[ltr.LtrError]) -> None:
    error = cls("{data} has\n'two' \x1b[31mlines")
    copies = pickle.loads(pickle.dumps(error)), cls(*error.args)  # the latter as other libraries copy errors
    for copy in copies:
        assert (type(copy), str(copy)) == (cls, "{data} has\n'two' \\x1b[31mlines")


def test_other_processes_get_a_missing_extra() -> None:
    error = pickle.loads(pickle.dumps(ltr.MissingExtraError("scipy", "report")))
    assert isinstance(error, ltr.MissingExtraError)
    assert str(error) == str(ltr.MissingExtraError("scipy", "report"))


def test_naming_keeps_the_class() -> None:
    with pytest.raises(ltr.LtrKeyError, match="^by=us: 'a' is missing$"), naming("by=us"):
        raise ltr.LtrKeyError("'a' is missing")


@pytest.mark.parametrize(
    ("origin", "arguments"),
    [
        ({"url": "file:///a%20b/c", "dir_info": {"editable": True}}, ["-e", "/a b/c[report]"]),
        ({"url": "file:///a/c", "dir_info": {}}, ["/a/c[report]"]),
        ({"url": "file:///a/l-1-py3-none-any.whl", "archive_info": {}}, ["/a/l-1-py3-none-any.whl[report]"]),
        ({"url": "https://h/l.whl", "archive_info": {}}, ["ltr_metrics[report] @ https://h/l.whl"]),
        (
            {"url": "https://h/l", "vcs_info": {"vcs": "git", "commit_id": "0a1"}},
            ["ltr_metrics[report] @ git+https://h/l@0a1"],
        ),
        (None, ["ltr_metrics[report]==1.2"]),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came(
    monkeypatch: pytest.MonkeyPatch, origin: object, arguments: list[str]
) -> None:
    installed = SimpleNamespace(version="1.2", read_text=lambda _: None if origin is None else json.dumps(origin))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: installed)
    line = str(ltr.MissingExtraError("scipy", "report")).partition("pip install ")[2]
    assert shlex.split(line) == arguments


def test_an_extra_of_a_checkout_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> object:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    folder = ltr.__file__.removesuffix("/ltr_metrics/__init__.py")
    assert shlex.quote(f"{folder}[report]") in str(ltr.MissingExtraError("scipy", "report"))
