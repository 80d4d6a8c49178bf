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
        Target("short, 1-10 documents", "least", 2.5),  # LightGBM, in turn
        Target("short, 5 documents", "least", 3),
        Target("short, 20 documents", "least", 4.5),
        Target("MQ2008", "least", 0.6),  # LightGBM
        Target("training", "least", 1.5),  # what the hosts' own metrics add to a training, to what ours add
        # times as long as what bounds ours
        Target("bare sort", "most", 4),
        Target("ties", "most", 2),  # than without ties
        Target("first result", "most", 2.2),  # of short queries, than one evaluation of prepared ones
        Target("growth", "most", 2),  # a row, from one shape to another
        # by itself
        Target("memory", "most", 48),  # bytes a row
        Target("import", "most", 0.03),  # seconds beyond NumPy
    )
}
