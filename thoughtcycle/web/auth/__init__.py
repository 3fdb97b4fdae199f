"""Authentication: who calls, and whether they may."""
