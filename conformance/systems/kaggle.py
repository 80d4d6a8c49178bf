"""MAP@K of Kaggle: ml_metrics.apk, of Ben Hamner's Metrics."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from conformance.queries import Query
from conformance.system import Difference, System, Values, at_cutoffs, every_draw, split


def system() -> System:
    """Return ml_metrics and its convention."""
    import ml_metrics

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        return {
            name: [ml_metrics.apk(query.relevant, query.ranking, split(name)[1] or 10) for query in queries]
            for name in names
        }

    return System(
        name="ml_metrics",
        version=version("ml_metrics"),
        convention="kaggle",
        metrics={"mapk": "map"} | at_cutoffs({"mapk": "map"}),
        values=values,
        draws=every_draw(graded=[False], ties=[False, True], unretrieved=[False, True]),
        differences=(
            Difference(
                frozenset({"mapk"}),
                "The release 0.1.4 gives 1 to a query without a relevant document; its source gives 0 since 2015.",
                lambda query: not query.relevant,
                1.0,
            ),
        ),
    )
