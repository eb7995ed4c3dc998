"""Devices of storages: the host, a simulated GPU, or a CUDA device through CuPy; and counters of their bytes.

This package counts every byte that the engine allocates, until its last reference is dropped.
"""
