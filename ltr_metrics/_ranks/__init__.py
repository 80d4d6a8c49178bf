"""Queries and scores become sums by rank: the compiled core, and its Python side."""
