"""Proof of forgetting: a search that shares no code with the product, and the receipts made of it."""
