"""The steps of the garden graph: scheduled maintenance of a user's memories."""
