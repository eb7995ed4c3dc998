"""Figures in the style of the stage: bytes over time, the allocator, strides, what fits on a device, the meter."""
