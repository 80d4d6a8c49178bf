"""The version of the package. `make release` writes the one of a release, so the tree has that of its development."""

__version__ = "0.1.0.dev0"
