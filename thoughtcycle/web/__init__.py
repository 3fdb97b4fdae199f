"""The HTTP side: who is calling, what they may ask for, and the pages and routes that answer."""
