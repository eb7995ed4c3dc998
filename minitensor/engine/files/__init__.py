"""Tensors in files: the format of ``save`` and ``load`` in both vocabularies, without pickles and without code.

A file is a zip archive, as ``numpy.savez`` writes it: arrays in NumPy's format, which ``numpy.load(path)["fc.weight"]``
reads without minitensor, and ``structure.json``, which describes how the arrays are combined into a value. A file is
written under a temporary name next to its path and renamed when it is complete. If a file is damaged or truncated, an
error is raised and nothing is loaded.
"""
