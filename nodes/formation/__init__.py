"""The steps of formation: what becomes of an exchange after its reply."""
