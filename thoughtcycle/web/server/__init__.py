"""The server: app, resources, turns, metrics, tuning."""
