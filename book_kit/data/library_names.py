"""The libraries that the book compares, and how their names are written."""

NAMES = {
    "minitensor": "minitensor",
    "paddle": "Paddle",
    "torch": "PyTorch",
    "numpy": "NumPy",
    "jax": "JAX",
    "cupy": "CuPy",
}
