"""Where the graphs keep their checkpoints: SQLite or MongoDB, behind one factory."""
