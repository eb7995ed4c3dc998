"""Devices of storages: the host, a simulated GPU, or a CUDA device through CuPy; and counters of their bytes.

Every byte that the engine allocates is counted until the last reference to its memory is dropped.
"""
