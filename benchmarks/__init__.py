"""Measured promises; `make bench` runs them all and prints the tables of docs/measurements.md."""
