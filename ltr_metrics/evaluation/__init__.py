"""From scores to results: `evaluate`, saved results, parts, files larger than memory, logs."""
