"""Tensors in files: what ``save`` writes and ``load`` reads, in both vocabularies. No pickle, so a file runs nothing.

A file is a zip archive of arrays in NumPy's own format, as ``numpy.savez`` writes it, and of ``structure.json``, which
says how they are put together: ``numpy.load(path)["fc.weight"]`` reads one of them anywhere. It is written beside its
place and moved there when it is whole; one that was cut short or damaged is refused, and nothing of it is loaded.

May import: the ground files, ``device``, ``core``, ``creation``.
"""
