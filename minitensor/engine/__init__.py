"""The engine: tensors, views, in-place operations and autograd, small enough to read.

Other packages add Paddle's names (:mod:`minitensor.paddle`), PyTorch's names (:mod:`minitensor.torch`), layers,
optimizers and tools.
"""
