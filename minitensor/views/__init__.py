"""Tensors on old storages: parts, shapes, indices; and in place what changes a tensor and not its numbers.

May import: all that stands below ``views``.
"""
