"""Fuzzing: damaged input of many kinds, drawn from a seed, and a report of what went wrong."""
