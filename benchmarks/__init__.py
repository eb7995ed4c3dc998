"""Measure speed and memory side by side, as ratios. These are not tests, because tests never assert a time."""
