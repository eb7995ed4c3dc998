"""The figures beside the stage, in its language: bytes over time, the allocator, strides, what fits, the meter.

May import: the engine and ``memory``; of the stage its element, its script and its words.
"""
