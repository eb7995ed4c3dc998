"""The libraries that the book compares: the names of their modules, and the spelling of their names in texts."""

NAMES = {
    "minitensor": "minitensor",
    "paddle": "Paddle",
    "torch": "PyTorch",
    "numpy": "NumPy",
    "jax": "JAX",
    "cupy": "CuPy",
}
