"""Arrays become validated, grouped queries."""
