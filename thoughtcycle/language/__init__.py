"""Portuguese and English by rules: parse a text, find facts, recognise intents (pure)."""
