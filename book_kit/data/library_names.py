"""The libraries that the book compares, and how their names are written."""

NAMES = {"torch": "PyTorch", "paddle": "Paddle", "numpy": "NumPy", "cupy": "CuPy", "minitensor": "minitensor"}
