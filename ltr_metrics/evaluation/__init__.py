"""From scores to numbers: `evaluate`, its result, saved results, parts of an evaluation, files larger than memory, logs."""
