"""Tensors out of nothing: of numbers, drawn at random, moved to another device. Each is on a storage of its own.

May import: the ground files, ``device``, ``core``, ``kernels``.
"""
