"""Interleaving against a published experiment, and against the package that others use."""
