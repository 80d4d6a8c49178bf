"""Counterfactual evaluation: metrics from logged clicks, corrected for what users saw."""
