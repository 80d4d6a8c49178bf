"""Online evaluation by interleaving: mix several rankings, and compare rankers by clicks."""
