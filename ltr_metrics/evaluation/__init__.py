"""From scores to results: `evaluate`, `Evaluation`, saved results, parts, files larger than memory, and logs."""
