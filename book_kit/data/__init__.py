"""Data sets and the small network that the last chapters train."""
