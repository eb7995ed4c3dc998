"""The libraries that the book compares, and the spelling of their names."""

NAMES = {
    "minitensor": "minitensor",
    "paddle": "Paddle",
    "torch": "PyTorch",
    "numpy": "NumPy",
    "jax": "JAX",
    "cupy": "CuPy",
}
