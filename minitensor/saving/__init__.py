"""What backward needs of memory, and what happens when a write takes it: preserved, or told to those who saved it.

May import: the ground files, ``device``, ``core``, ``kernels``.
"""
