"""Figures in the style of the stage: bytes over time, the allocator, strides, sizes that fit a device, and a meter."""
