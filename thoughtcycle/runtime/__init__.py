"""The process around the graphs: settings, resources, background work, turns."""
