"""The engine: small enough to read.

Tensors, views, in-place operations and autograd live here. The packages beside it give them Paddle's names
(:mod:`minitensor.paddle`), PyTorch's names (:mod:`minitensor.torch`), layers, optimizers and tools.

May import: nothing outside this package.
"""
