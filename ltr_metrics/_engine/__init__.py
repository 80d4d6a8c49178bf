"""From arrays to queries to rankings, with only NumPy: validation, grouping, the sort, ties."""
