"""From scores to results: `evaluate`, `Evaluation`, saved results, evaluation in parts, files larger than memory, logs."""
