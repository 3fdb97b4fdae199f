"""Measured promises that a user can run: the language rules, and retrieval on public data sets."""
