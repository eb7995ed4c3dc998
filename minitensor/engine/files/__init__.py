"""Tensors in files: the format of ``save`` and ``load`` in both vocabularies, without pickles and without code.

A file is a zip archive of arrays in NumPy's own format, as ``numpy.savez`` writes it, and of ``structure.json``, which
describes how they are combined: ``numpy.load(path)["fc.weight"]`` reads an array without minitensor. A file is written
under a temporary name next to its path and renamed when it is complete. For a damaged or truncated file, an error is
raised and nothing is loaded.
"""
