"""The steps of the formation graph: extraction of memories from an exchange after its reply."""
