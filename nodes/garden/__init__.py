"""The steps of the garden graph: upkeep of what is kept."""
