"""Measured side by side with what others know; `python -m benchmarks` runs it, docs/benchmarks.md explains it."""
