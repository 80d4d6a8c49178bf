"""What numbers mean: comparison, gate, statistics, explanation, audits, churn, ranks, bins."""
