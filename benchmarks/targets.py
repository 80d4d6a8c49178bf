"""What is to be reached, in one table."""

from __future__ import annotations

from benchmarks.figures import Target

TARGETS = {
    target.name: target
    for target in (
        # times as long as ours
        Target("LightGBM", "least", 6),
        Target("LightGBM, millions of rows", "least", 8),
        Target("XGBoost", "least", 10),
        Target("CatBoost", "least", 40),
        Target("ranx", "least", 40),
        Target("pytrec_eval", "least", 25),
        Target("scikit-learn", "least", 250),
        Target("training", "least", 2),  # what the hosts' own metrics add to a training, to what ours add
        # times as long as what bounds ours
        Target("bare sort", "most", 4),
        Target("ties", "most", 3),  # than without ties
        Target("growth", "most", 2),  # a row, from one shape to another
        # by itself
        Target("memory", "most", 48),  # bytes a row
        Target("import", "most", 0.03),  # seconds beyond NumPy
    )
}
