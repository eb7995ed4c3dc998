"""Figures for paper that only the book shows: recorded benchmarks, and the cost of many ranks."""
