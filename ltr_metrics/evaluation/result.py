"""The result of an evaluation: one value per query and metric, and their means."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.grouping import as_ids
from ltr_metrics._engine.ids import id_texts, positions_by_text, spelling_hint
from ltr_metrics._engine.per_query import Segmentations
from ltr_metrics._engine.plain import PlainId, none_if_nan, plain_id, plain_ids, segment_title, to_dataframe
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, one_line
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.means import geometric_mean, mean, standard_error
from ltr_metrics.evaluation.segments import Segments, iter_segments, split_by_segment
from ltr_metrics.metrics.base import Metric, is_number
from ltr_metrics.metrics.requests import Policy

if TYPE_CHECKING:
    import pandas

MOST_NAMED = 3  # queries in one message


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Printed, Mapping[str, float]):
    """The values of some metrics for each query, and their means.

    An evaluation is a mapping of canonical names to means, in the order of the request:
    ``dict(result)``, ``"map" in result``. Two evaluations are equal only if they are one object,
    because equal means do not imply equal values per query.

    Attributes
    ----------
    mean : dict of str to float
        Weighted mean over the queries that the metric is defined on; NaN if there are none.
        Keys are canonical names, in the order of the request. The metric itself and its name in
        the request are keys, too.
    per_query : dict of str to ndarray of float64
        One value a query, in order of first appearance; NaN for a query that is left out.
    n_undefined : dict of str to int
        Number of queries left out of each mean.
    qid : ndarray
        Id of each query.
    n_documents, n_relevant : ndarray of int
        Number of documents, and of documents of grade 1 or higher, of each query.
    weight : ndarray of float64 or None
        Weight of each query.
    policy : Policy
        How ties and undefined values were treated, and the name of the convention.
    segments : dict
        The labels of the segments and the position of each query's label, by segmentation. Use
        `by`.
    fingerprint : Fingerprint or None
        A summary of the judged documents, by which `compare` recognises results of other data.
    lower_is_better : frozenset of str
        Canonical names of the metrics of which lower is better.
    cluster : ndarray of int or None
        Number of each query's cluster. Standard errors and intervals are over clusters.
    by : dict
        The evaluation of each segment of queries by its label. Several segmentations are such
        dicts by name. Empty without the option ``by``.
    standard_error : dict of str to float
        Standard error of each mean, over queries or clusters.

    See Also
    --------
    evaluate : Return one of these.
    load_result : Read a saved one.
    intervals : Confidence intervals of its means.
    compare : Compare two or more of them.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, s, qid = [1, 0, 0, 2, 0, 0], [0.2, 0.8, 0.1, 0.7, 0.9, 0.3], [7, 7, 8, 8, 9, 9]
    >>> result = ltr.evaluate(y, s, qid=qid, metrics=["mrr", "ndcg@10"], by=["de", "fr", "fr"])
    >>> result["mrr"], round(result.mean["ndcg@10"], 4), result.standard_error["mrr"]
    (0.75, 0.8155, 0.25)
    >>> result.per_query["mrr"], result.n_undefined["mrr"]
    (array([0.5, 1. , nan]), 1)
    >>> result.n_queries, result.qid, result.n_documents, result.is_weighted
    (3, array([7, 8, 9]), array([2, 2, 2]), False)
    >>> result.by["fr"]["mrr"], "map" in result, list(result)
    (1.0, False, ['mrr', 'ndcg_exp@10'])
    >>> result.to_pandas()[["qid", "relevant", "mrr"]].values.tolist()[0]
    [7.0, 1.0, 0.5]
    >>> result.to_dict()["per_query"]["mrr"]
    [0.5, 1.0, None]
    """

    COMPARABLE: ClassVar[str] = "on the same data"  # how all models of a comparison must be evaluated

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
    lower_is_better: frozenset[str] = frozenset()
    cluster: IntArray | None = field(default=None, repr=False)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @classmethod
    def of(
        cls, values: Mapping[str, FloatArray], asked: Mapping[str, str], *, weight: Any, **fields: Any
    ) -> Evaluation:
        """Return the evaluation with these values per query, their means and counts of NaN."""
        return cls(
            mean=ByMetric({name: mean(column, weight) for name, column in values.items()}, asked),
            per_query=ByMetric(values, asked),
            n_undefined=ByMetric({name: int(np.count_nonzero(np.isnan(v))) for name, v in values.items()}, asked),
            weight=weight,
            **fields,
        )

    def with_fields(self, **changes: Any) -> Evaluation:
        """Return an evaluation with other values of some fields; the means stay as they are."""
        return replace(self, **changes)

    def with_values(self, values: Mapping[str, FloatArray]) -> Evaluation:
        """Return an evaluation of the same queries under the same options with other values."""
        of_queries = ("qid", "n_documents", "n_relevant", "weight", "cluster", "segments", "fingerprint")
        same = {name: getattr(self, name) for name in (*of_queries, "policy", "lower_is_better")}
        return Evaluation.of(values, self.per_query.asked, **same)

    @cached_property
    def by(self) -> Segments:
        """Evaluations of each segment, by its label; with several segmentations, by name and label.

        The labels are sorted. Empty without the option ``by``.
        """
        return split_by_segment(self.segments, lambda mask: take_queries(self, mask))

    @cached_property
    def standard_error(self) -> ByMetric[float]:
        r"""Standard error of each mean, by metric; NaN for fewer than two queries or clusters.

        The queries are treated as a sample. With values :math:`x_i`, weights :math:`w_i` and the
        weighted mean :math:`m` of the :math:`n` queries that count,

        .. math:: SE = \frac{1}{\sum_i w_i} \sqrt{\frac{n}{n-1} \sum_i w_i^2 (x_i - m)^2}

        which is :math:`s / \sqrt{n}` without weights. A query that is left out of the mean, or
        whose weight is 0, does not count.

        With clusters, the outer sum is over the :math:`n` clusters, of the squares of the sums of
        :math:`w_i (x_i - m)` over the queries of a cluster. A. Deng, U. Knoblich and J. Lu derive
        it (Applying the Delta Method in Metric Analytics, KDD 2018).
        """
        errors = {name: standard_error(column, self.weight, self.cluster) for name, column in self.per_query.items()}
        return ByMetric(errors, self.per_query.asked)

    @cached_property
    def plain_qid(self) -> list[PlainId]:
        """The query ids as JSON types: text, numbers and truth values."""
        return plain_ids(self.qid)

    @property
    def n_queries(self) -> int:
        """Number of queries evaluated, whether or not a metric leaves some out."""
        return len(self.qid)

    @property
    def is_weighted(self) -> bool:
        """Whether the means are weighted."""
        return self.weight is not None

    @property
    def _names(self) -> ByMetric[Any]:
        """The metrics' names, which a distributed evaluation knows before its means."""
        return self.mean

    def __getitem__(self, key: str | Metric) -> float:
        """Return the mean of a metric."""
        return self.mean[key]  # type: ignore[index]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the canonical names of the metrics, in the order of the request."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self._names)

    def __contains__(self, key: object) -> bool:
        """Whether a metric was evaluated, by any key that ``result[key]`` takes."""
        return key in self._names

    def subset(self, qids: Any) -> Evaluation:
        """Return the evaluation of some of the queries, given by their ids.

        Means, weights, ``n_undefined`` and segments are those of these queries.

        Parameters
        ----------
        qids : array-like
            Query ids without repetition, never positions. The result has its queries in this
            order. Ids may have another type than ``qid``: they are the same if they have the same
            text, so that ``"7"`` is query 7.

        Returns
        -------
        Evaluation
            With the queries in the order of ``qids``.

        Raises
        ------
        LtrKeyError
            If the result has no query of an id.
        LtrValueError, LtrTypeError
            If an id is repeated, or ``qids`` is not a sequence of ids.

        Examples
        --------
        >>> import ltr_metrics as ltr
        >>> y, s, qid = [1, 0, 0, 2, 1, 0], [0.2, 0.8, 0.1, 0.7, 0.9, 0.3], ["a", "a", "b", "b", "c", "c"]
        >>> result = ltr.evaluate(y, s, qid=qid, metrics=["mrr"])
        >>> part = result.subset(["c", "a"])
        >>> part["mrr"], part.qid.tolist(), part.per_query["mrr"].tolist()
        (0.75, ['c', 'a'], [1.0, 0.5])
        """
        positions = query_positions(self, qids)
        segments = {name: _labels_in_use(labels, code[positions]) for name, (labels, code) in self.segments.items()}
        return replace(take_queries(self, positions), segments=segments)

    def geometric_mean(self, metric: str | Metric, *, floor: float = 1e-5) -> float:
        r"""Return the geometric mean of a metric, in which low values count more.

        With values :math:`x_i` and weights :math:`w_i` (1 without weights), it is

        .. math:: \exp \left( \frac{1}{\sum_i w_i} \sum_i w_i \log \max(x_i, floor) \right)

        Queries that are left out of the mean are left out here, too. With
        ``convention="trec_eval"``, the geometric mean of ``"map"`` is trec_eval's ``gm_map``.

        Parameters
        ----------
        metric : str or Metric
            A metric of this evaluation.
        floor : float, default 1e-5
            Replaces lower values, because one value of 0 would make the mean 0. The default is
            that of trec_eval.

        Returns
        -------
        float
            NaN if all queries are left out.

        Raises
        ------
        LtrKeyError
            If the evaluation does not have the metric.
        LtrValueError
            If ``floor`` is not above 0, or if a value is below 0.

        Examples
        --------
        >>> import ltr_metrics as ltr
        >>> result = ltr.evaluate([1, 0, 0, 1], [2, 1, 2, 1], group=[2, 2], metrics="map")
        >>> round(result.geometric_mean("map"), 6), result["map"]
        (0.707107, 0.75)
        """
        if not is_number(floor) or floor <= 0:
            raise LtrValueError(f"floor must be a number above 0, which replaces lower values. Got {floor!r}.")
        values = self.per_query[metric]  # type: ignore[index]
        negative = np.flatnonzero(values < 0)
        if len(negative):
            raise LtrValueError(
                f"A geometric mean needs values of at least 0: {metric} is {values[negative[0]]:g} for query "
                f"{one_line(self.qid[negative[0]])}. Use the arithmetic mean, result[{str(metric)!r}]."
            )
        return geometric_mean(values, self.weight, floor)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the evaluation to a Parquet file, which `load_result` reads.

        The file is written completely or not at all. It has one row per query with the columns
        ``qid``, ``documents``, ``relevant``, the metrics, the weight, the cluster, and a
        fingerprint of the judged documents. Its metadata hold the options and the versions of this
        package, NumPy and Python.

        Parameters
        ----------
        path : path
            The file to write, such as ``production.parquet``.

        Raises
        ------
        MissingExtraError
            If pyarrow is not installed.
        OSError
            If the file cannot be written. An existing file is then left as it was.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import ltr_metrics as ltr
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "production.parquet"
        >>> ltr.evaluate([1, 0], [0.2, 0.8], group=[2], metrics="mrr").save(path)
        >>> ltr.load_result(path)["mrr"]
        0.5
        """
        from ltr_metrics.evaluation import saved  # with json, which few callers need

        saved.save(path, self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per query: qid, documents, relevant, then the metrics.

        Returns
        -------
        pandas.DataFrame
            One row per query, in order of first appearance. NaN marks a query that is left out.
        """
        columns = {"qid": self.qid, "documents": self.n_documents, "relevant": self.n_relevant}
        return to_dataframe(columns | dict(self.per_query))

    def to_dict(self) -> dict[str, Any]:
        """Return lists, numbers and strings, ready for JSON; NaN is None.

        Returns
        -------
        dict
            The options, the means, and the values per query and by segment.
        """
        return {
            "n_queries": self.n_queries,
            "ties": self.policy.ties,
            "no_relevant": self.policy.no_relevant,
            "no_relevant_of": dict(self.policy.no_relevant_of),
            "convention": self.policy.convention,
            **self.means_to_dict(),
            "qid": list(self.plain_qid),
            "documents": self.n_documents.tolist(),
            "relevant": self.n_relevant.tolist(),
            "weight": None if self.weight is None else self.weight.tolist(),
            "cluster": None if self.cluster is None else self.cluster.tolist(),
            "per_query": {name: [none_if_nan(v) for v in values.tolist()] for name, values in self.per_query.items()},
            "by": self.segments_to_dicts(),
        }

    def means_to_dict(self) -> dict[str, Any]:
        """Return the means and the numbers of queries left out, ready for JSON."""
        mean = {name: none_if_nan(value) for name, value in self.mean.items()}
        return {"mean": mean, "n_undefined": dict(self.n_undefined)}

    def segments_to_dicts(self) -> list[dict[str, Any]]:
        """Return the means of each segment, ready for JSON."""
        return [
            {"name": name, "segment": plain_id(label), "n_queries": part.n_queries, **part.means_to_dict()}
            for name, label, part in iter_segments(self.segments, self.by)
        ]

    def printed_parts(self) -> list[Table]:
        """Return a table of the means, and one of the segments if there are any."""
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
            for name, label, part in iter_segments(self.segments, self.by)
        ]
        return [Table(("segment", "queries", *self.mean), rows, min_widths=(0, 9, *[8] * len(self.mean)))]


def take_queries(result: Evaluation, chosen: BoolArray | IntArray) -> Evaluation:
    """Return the evaluation of the queries of a mask or of positions, without segments."""
    return Evaluation.of(
        {name: values[chosen] for name, values in result.per_query.items()},
        result.per_query.asked,
        qid=result.qid[chosen],
        n_documents=result.n_documents[chosen],
        n_relevant=result.n_relevant[chosen],
        weight=None if result.weight is None else result.weight[chosen],
        policy=result.policy,
        fingerprint=None if result.fingerprint is None else result.fingerprint.subset(chosen),
        lower_is_better=result.lower_is_better,
        cluster=None if result.cluster is None else result.cluster[chosen],
    )


def query_positions(result: Evaluation, qids: Any) -> IntArray:
    """Return the positions of the queries with these ids; refuse repeated and unknown ids."""
    ids = as_ids(qids, "qids")
    if result.qid.dtype != np.bool_ and set(map(type, ids.tolist())) == {bool}:
        raise LtrTypeError("qids must be query ids, not one flag a query. Got flags: pass result.qid[flags].")
    position, requested = positions_by_text(result.qid, "The result"), _positions_without_repetition(ids)
    unknown = [ids[at : at + 1].tolist()[0] for text, at in requested.items() if text not in position]
    if unknown:
        known = result.qid.tolist()
        more = "" if len(unknown) == 1 else f" It lacks {len(unknown):,} of {len(ids):,} ids ({_preview(unknown)})."
        raise LtrKeyError(
            f"The result has no query {unknown[0]!r}.{more} It has {len(known):,} queries ({_preview(known)})."
            f"{spelling_hint(unknown, known)}"
        )
    return np.array([position[text] for text in requested], dtype=np.intp)


def _positions_without_repetition(ids: AnyArray) -> dict[str, int]:
    """Return the position of each id by its text; refuse a repeated id."""
    position: dict[str, int] = {}
    for at, text in enumerate(id_texts(ids)):
        if position.setdefault(text, at) != at:
            raise LtrValueError(f"qids must hold each query once: got {text!r} at {position[text]} and at {at}.")
    return position


def _preview(ids: list[Any]) -> str:
    return ", ".join(map(repr, ids[:MOST_NAMED])) + (", ..." if len(ids) > MOST_NAMED else "")


def _labels_in_use(labels: list[Hashable], code: IntArray) -> tuple[list[Hashable], IntArray]:
    """Return the labels of segments that still have a query, in their order, and the new codes."""
    used, code_in_used = np.unique(code, return_inverse=True)
    return [labels[i] for i in used.tolist()], code_in_used
