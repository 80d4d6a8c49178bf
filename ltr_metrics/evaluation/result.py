"""What an evaluation gives: one number a query, and their means."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.grouping import as_ids
from ltr_metrics._engine.ids import id_texts, positions_by_text, spelling_hint
from ltr_metrics._engine.per_query import Segmentations
from ltr_metrics._engine.plain import PlainId, none_if_nan, plain_id, plain_ids, segment_title
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, MissingExtraError, did_you_mean
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.means import mean
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.requests import Policy, name_of

if TYPE_CHECKING:
    import pandas

V = TypeVar("V")

MOST_NAMED = 3  # queries in one message


class ByMetric(dict[str, V], Generic[V]):
    """A dict from canonical names that also takes the metric itself, and its name as it was asked for.

    A canonical name always means the metric of that name, also where a convention made another one of the same words.
    """

    def __init__(self, values: Mapping[str, V], asked: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked = dict(asked)

    def __missing__(self, key: Hashable) -> V:
        if key in self:
            return super().__getitem__(self.canonical(key))
        known = ", ".join(self)
        raise LtrKeyError(f"{str(key)!r} was not evaluated.{did_you_mean(str(key), self)} Evaluated: {known}.")

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self.canonical(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a metric, or the default."""
        return super().get(self.canonical(key), default)

    def canonical(self, key: object) -> str:
        """Return the canonical name that a metric, or a name as it was asked for, means here, evaluated or not."""
        name = name_of(key)
        if super().__contains__(name) or isinstance(key, Metric):  # complete: no convention has a say in what it means
            return name
        return self.asked.get(name, name)


class Segments(dict[Any, Any]):
    """The evaluations of segments, by label; or of several segmentations, by name."""

    def __missing__(self, key: Hashable) -> NoReturn:
        known = ", ".join(map(repr, self)) or "none: evaluate with by="
        raise LtrKeyError(f"There is no segment {key!r}.{did_you_mean(str(key), map(str, self))} There are {known}.")


def segments_of(segmentations: Segmentations, subset: Callable[[BoolArray], Any]) -> Segments:
    """Return the part of each segment, in order of first appearance or as a categorical has them."""
    found = {
        name: Segments({label: subset(code == i) for i, label in enumerate(labels)})
        for name, (labels, code) in segmentations.items()
    }
    return found[None] if None in found else Segments(found)


def parts_of(segmentations: Segmentations, by: Segments) -> Iterator[tuple[str | None, Hashable, Any]]:
    """Yield segmentation, segment and part of all segments."""
    for name in segmentations:
        for label, part in (by if name is None else by[name]).items():
            yield name, label, part


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Printed, Mapping[str, float]):
    """The values of some metrics: one number a query, and their means.

    An evaluation is a mapping of canonical names to means, in the order asked for:
    ``dict(result)``, ``"map" in result``. Two evaluations are equal only if they are one object,
    because equal means do not imply equal values per query.

    Attributes
    ----------
    mean : dict of str to float
        Weighted mean over the queries that are not left out; NaN if there is none. Keys are canonical names, in the order
        asked for; the metric itself, or its name as asked for, is a key too.
    per_query : dict of str to ndarray of float64
        One value a query, in order of first appearance; NaN = left out.
    n_undefined : dict of str to int
        Queries left out of each mean.
    qid : ndarray
        Id of each query.
    n_documents, n_relevant : ndarray of int
        Documents, and documents of grade 1 or higher, of each query.
    weight : ndarray of float64 or None
        Weight of each query.
    by : dict
        The evaluation of each segment of queries, by its label; with several segmentations, these by name. Empty without the
        option ``by``.
    """

    mean: ByMetric[float]
    per_query: ByMetric[FloatArray]
    n_undefined: ByMetric[int]
    qid: AnyArray
    n_documents: IntArray
    n_relevant: IntArray
    weight: FloatArray | None
    policy: Policy
    segments: Segmentations = field(default_factory=dict, repr=False)
    fingerprint: Fingerprint | None = field(default=None, repr=False)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property
    def by(self) -> Segments:
        """The evaluation of each segment, in order of first appearance."""
        return segments_of(self.segments, lambda chosen: take_queries(self, chosen))

    @cached_property
    def plain_qid(self) -> list[PlainId]:
        """The ids as JSON has them: text, numbers and truth values; made once."""
        return plain_ids(self.qid)

    def subset(self, qids: Any) -> Evaluation:
        """Return the evaluation of some of the queries, given by their ids.

        Means, weights, ``n_undefined`` and segments are those of these queries.

        Parameters
        ----------
        qids : array-like
            Query ids, each once, never positions. The result has its queries in this order. Ids
            may have another type than ``qid``: they are the same if they have the same text, so
            that ``"7"`` is query 7.

        Returns
        -------
        Evaluation

        Raises
        ------
        LtrKeyError
            If there is no query of an id.
        LtrValueError, LtrTypeError
            If an id is there twice, or ``qids`` is not a sequence of ids.

        Examples
        --------
        >>> import ltr_metrics as ltr
        >>> y, s, qid = [1, 0, 0, 2, 1, 0], [0.2, 0.8, 0.1, 0.7, 0.9, 0.3], ["a", "a", "b", "b", "c", "c"]
        >>> result = ltr.evaluate(y, s, qid=qid, metrics=["mrr"])
        >>> part = result.subset(["c", "a"])
        >>> part["mrr"], part.qid.tolist(), part.per_query["mrr"].tolist()
        (0.75, ['c', 'a'], [1.0, 0.5])
        """
        chosen = positions_of(self, qids)
        segments = {name: _labels_in_use(labels, code[chosen]) for name, (labels, code) in self.segments.items()}
        return replace(take_queries(self, chosen), segments=segments)

    def with_values(self, values: Mapping[str, FloatArray]) -> Evaluation:
        """Return an evaluation of the same queries under the same options with other values."""
        same = ("qid", "n_documents", "n_relevant", "weight", "policy", "segments", "fingerprint")
        return Evaluation.of(values, self.per_query.asked, **{name: getattr(self, name) for name in same})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, whole or not at all, that `load_result` reads: tomorrow's baseline.

        It has a row a query: ``qid``, ``documents``, ``relevant``, the metrics, the weight, a fingerprint of the judged documents; and in its
        metadata the options and the versions of this package, NumPy and Python.

        Raises
        ------
        MissingExtraError
            If pyarrow is not installed.
        OSError
            If the file cannot be written; one that was there is then left as it was.
        """
        from ltr_metrics.evaluation import saved

        saved.save(
            path,
            self.per_query,
            asked=self.per_query.asked,
            qid=self.qid,
            n_documents=self.n_documents,
            n_relevant=self.n_relevant,
            weight=self.weight,
            policy=self.policy,
            segments=self.segments,
            fingerprint=self.fingerprint,
        )

    @classmethod
    def of(
        cls, values: Mapping[str, FloatArray], asked: Mapping[str, str], *, weight: Any, **fields: Any
    ) -> Evaluation:
        """Make an evaluation from values a query: their means, and how many are left out."""
        return cls(
            mean=ByMetric({name: mean(of_query, weight) for name, of_query in values.items()}, asked),
            per_query=ByMetric(values, asked),
            n_undefined=ByMetric({name: int(np.count_nonzero(np.isnan(v))) for name, v in values.items()}, asked),
            weight=weight,
            **fields,
        )

    @property
    def n_queries(self) -> int:
        """Queries evaluated, whether or not a metric leaves some out."""
        return len(self.qid)

    @property
    def is_weighted(self) -> bool:
        """Whether the means are weighted."""
        return self.weight is not None

    @property
    def _names(self) -> ByMetric[Any]:
        """The metrics' names, which are known before the means of a distributed evaluation are."""
        return self.mean

    def __getitem__(self, key: str | Metric) -> float:
        """Return the mean of a metric."""
        return self.mean[key]  # type: ignore[index]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the canonical names of the metrics, in the order asked for."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self._names)

    def __contains__(self, key: object) -> bool:
        """Whether a metric was evaluated, by any key that ``result[key]`` takes."""
        return key in self._names

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row a query: qid, documents, relevant, then the metrics."""
        columns = {"qid": self.qid, "documents": self.n_documents, "relevant": self.n_relevant}
        return table_of(columns | dict(self.per_query))

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON; NaN is None."""
        return {
            "n_queries": self.n_queries,
            "ties": self.policy.ties,
            "no_relevant": self.policy.no_relevant,
            "no_relevant_of": dict(self.policy.no_relevant_of),
            "convention": self.policy.convention,
            "mean": {name: none_if_nan(value) for name, value in self.mean.items()},
            "n_undefined": dict(self.n_undefined),
            "qid": list(self.plain_qid),
            "documents": self.n_documents.tolist(),
            "relevant": self.n_relevant.tolist(),
            "weight": None if self.weight is None else self.weight.tolist(),
            "per_query": {name: [none_if_nan(v) for v in values.tolist()] for name, values in self.per_query.items()},
            "by": self.segments_to_dicts(),
        }

    def segments_to_dicts(self) -> list[dict[str, Any]]:
        """Return the means of each segment, ready for JSON."""
        return [
            {
                "name": name,
                "segment": plain_id(label),
                "n_queries": part.n_queries,
                "mean": {metric: none_if_nan(value) for metric, value in part.mean.items()},
                "n_undefined": dict(part.n_undefined),
            }
            for name, label, part in parts_of(self.segments, self.by)
        ]

    def printed_parts(self) -> list[Table]:
        """Return a small table of means, and one of segments if there are any."""
        rows = [
            (name, f"{value:.6f}", f"{self.n_queries - self.n_undefined[name]:,}", f"{self.n_undefined[name]:,}")
            for name, value in self.mean.items()
        ]
        weighted = "weighted mean" if self.is_weighted else "mean"
        means = Table(("metric", weighted, "queries", "left out"), rows, min_widths=(0, 13, 9, 8))
        return [means, *self._table_of_segments()]

    def _table_of_segments(self) -> list[Table]:
        if not self.segments:
            return []
        rows = [
            (segment_title(name, label), f"{part.n_queries:,}", *(f"{part.mean[metric]:.6f}" for metric in self.mean))
            for name, label, part in parts_of(self.segments, self.by)
        ]
        return [Table(("segment", "queries", *self.mean), rows, min_widths=(0, 9, *[8] * len(self.mean)))]


def take_queries(result: Evaluation, chosen: BoolArray | IntArray) -> Evaluation:
    """Return the evaluation of queries that flags or positions choose, without segments."""
    return Evaluation.of(
        {name: of_query[chosen] for name, of_query in result.per_query.items()},
        result.per_query.asked,
        qid=result.qid[chosen],
        n_documents=result.n_documents[chosen],
        n_relevant=result.n_relevant[chosen],
        weight=None if result.weight is None else result.weight[chosen],
        policy=result.policy,
        fingerprint=None if result.fingerprint is None else result.fingerprint.subset(chosen),
    )


def positions_of(result: Evaluation, qids: Any) -> IntArray:
    """Return the positions of queries that are given by their ids, each once."""
    ids = as_ids(qids, "qids")
    if result.qid.dtype != np.bool_ and set(map(type, ids.tolist())) == {bool}:
        raise LtrTypeError("qids must be query ids, not one flag a query. Got flags: pass result.qid[flags].")
    position, asked = positions_by_text(result.qid, "The result"), _each_once(ids)
    unknown = [ids[at : at + 1].tolist()[0] for text, at in asked.items() if text not in position]
    if unknown:
        known = result.qid.tolist()
        more = "" if len(unknown) == 1 else f" It lacks {len(unknown):,} of {len(ids):,} ids ({_some(unknown)})."
        raise LtrKeyError(
            f"The result has no query {unknown[0]!r}.{more} It has {len(known):,} queries ({_some(known)})."
            f"{spelling_hint(unknown, known)}"
        )
    return np.array([position[text] for text in asked], dtype=np.intp)


def _each_once(ids: AnyArray) -> dict[str, int]:
    """Return the position of each id by its text; refuse an id that is there twice."""
    position: dict[str, int] = {}
    for at, text in enumerate(id_texts(ids)):
        if position.setdefault(text, at) != at:
            raise LtrValueError(f"qids must hold each query once: got {text!r} at {position[text]} and at {at}.")
    return position


def _some(ids: list[Any]) -> str:
    return ", ".join(map(repr, ids[:MOST_NAMED])) + (", ..." if len(ids) > MOST_NAMED else "")


def _labels_in_use(labels: list[Hashable], code: IntArray) -> tuple[list[Hashable], IntArray]:
    """Return the labels of segments that still have a query, in their order."""
    used, code_of_used = np.unique(code, return_inverse=True)
    return [labels[i] for i in used.tolist()], code_of_used


def load_result(path: str | os.PathLike[str]) -> Evaluation:
    """Read what `Evaluation.save` wrote.

    Ids and labels of segments that are neither numbers nor text come back as text.

    Parameters
    ----------
    path : path

    Returns
    -------
    Evaluation
        With the same values, to the bit.

    Raises
    ------
    LtrValueError
        If the file is damaged, cut off, of another kind or of another format.
    FileNotFoundError

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
    from ltr_metrics.evaluation import saved  # and json, which few need

    fields = saved.load(path)
    return Evaluation.of(fields.pop("values"), fields.pop("asked"), **fields)


def joined(parts: Iterable[Evaluation]) -> Evaluation:
    """Return one evaluation of the queries of all parts, which have the same metrics and options and no query in common.

    Of an iterator one part is held at a time, without its labels.
    """
    of_part: list[dict[str, Any]] = []
    segments: dict[str | None, tuple[dict[Hashable, int], list[IntArray]]] = {}
    unjudged = None
    for part in parts:
        one = {name: getattr(part, name) for name in ("qid", "n_documents", "n_relevant", "weight")}
        if part.fingerprint is not None:
            one["fingerprint"], unjudged = part.fingerprint.of_query, unjudged or part.fingerprint.unjudged
        of_part.append(one | {"values": dict(part.per_query)})
        for name, (labels, code) in part.segments.items():
            place, codes = segments.setdefault(name, ({}, []))
            codes.append(np.array([place.setdefault(label, len(place)) for label in labels], dtype=np.intp)[code])
        policy, asked = part.policy, part.per_query.asked
    if not of_part:
        raise LtrValueError("There is no evaluation to join.")

    def column(name: str) -> Any:
        values: list[Any] = [one.get(name) for one in of_part]
        return None if any(v is None for v in values) else np.concatenate(values)

    fingerprint = column("fingerprint")
    if len({one["qid"].dtype.kind for one in of_part}) > 1:  # NumPy would make text of numbers
        of_part = [one | {"qid": one["qid"].astype(object)} for one in of_part]
    return Evaluation.of(
        {metric: np.concatenate([one["values"][metric] for one in of_part]) for metric in of_part[0]["values"]},
        asked,
        qid=column("qid"),
        n_documents=column("n_documents"),
        n_relevant=column("n_relevant"),
        weight=column("weight"),
        policy=policy,
        segments={name: (list(place), np.concatenate(codes)) for name, (place, codes) in segments.items()},
        fingerprint=None if fingerprint is None else Fingerprint(lambda: fingerprint, unjudged),
    )


def table_of(data: Any, columns: Any = None) -> pandas.DataFrame:
    """Return a DataFrame, or say what is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "report") from error
    return pd.DataFrame(data, columns=columns)
