"""Evaluation from what users clicked: interleaved rankings, and estimates from logs."""
