"""The steps of the graphs: one file, one step."""
