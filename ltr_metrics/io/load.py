"""Saved results, read back as evaluations."""

from __future__ import annotations

import os
from typing import Any

from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io import saved


@explaining_calls
def load_result(path: str | os.PathLike[str]) -> Evaluation:
    """Read a file that `Evaluation.save` has written.

    Ids and labels of segments that are neither numbers nor text come back as text, as do ids of
    several types and integers that int64 cannot hold in a list. Two ids stay two ids.

    Parameters
    ----------
    path : path
        The file to read.

    Returns
    -------
    Evaluation
        Its values are equal to the saved ones, to the bit.

    Raises
    ------
    LtrValueError
        If the file is damaged, truncated, of another kind or of another format.
    FileNotFoundError
        If there is no such file.
    MissingExtraError
        If pyarrow is not installed.

    See Also
    --------
    Evaluation.save : Write the file.
    compare : Compare a saved result with a new one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([1, 0, 0, 2], [0.2, 0.8, 0.1, 0.7], qid=["a", "a", "b", "b"], metrics=["mrr"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "production.parquet"
    >>> result.save(path)
    >>> ltr.load_result(path).per_query["mrr"]
    array([0.5, 1. ])
    """
    return load(path)[0]


def load(path: str | os.PathLike[str]) -> tuple[Evaluation, Any]:
    """Return a saved evaluation, and the JSON values about it."""
    columns, header = saved.read(path)
    try:
        fields = saved.fields_from(columns, header)
        per_query = fields.pop("per_query")
        return Evaluation.of(per_query, per_query.asked, **fields), header["about"]
    except (KeyError, TypeError, ValueError) as error:
        raise LtrValueError(f"{path} has a damaged header: {error!r}. Save the result again.") from error
