"""Evaluations over rounds and candidates: training logs, search logs, learning curves."""
