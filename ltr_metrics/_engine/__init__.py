"""From arrays to queries to rankings, with NumPy alone: validation, grouping, the sort, ties."""
