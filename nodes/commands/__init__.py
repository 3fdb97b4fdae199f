"""Commands of a chat that are answered without the cycle."""
