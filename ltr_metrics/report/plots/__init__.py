"""Figures with scikit-learn's interface: ``from_...`` collects the data, and ``plot`` draws them with Matplotlib."""
