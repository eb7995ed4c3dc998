"""Tensors in files: the format of ``save`` and ``load`` under Paddle's and PyTorch's names. No pickle, no code.

A file is a zip archive of arrays in NumPy's own format, as ``numpy.savez`` writes it, and of ``structure.json``, which
describes how they are combined: ``numpy.load(path)["fc.weight"]`` reads one of them anywhere. It is written to a
temporary file next to its path and renamed when it is complete. A damaged or truncated file is refused as a whole.
"""
