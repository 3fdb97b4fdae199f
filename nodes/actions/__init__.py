"""One file, one action."""
