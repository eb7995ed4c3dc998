"""Memory that others see as well: numpy arrays, DLPack, and writes of theirs that the engine is not told of.

May import: the ground files, ``device``, ``core``, ``saving``.
"""
