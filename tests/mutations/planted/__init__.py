"""The mutations, by the part of the engine that they are planted in."""

from . import (
    big,
    devices,
    generated,
    gradients,
    history,
    layers,
    networks,
    rules,
    saved,
    sharing_and_memory,
    views,
    vocabulary,
    writes,
)

__all__ = [
    "big",
    "devices",
    "generated",
    "gradients",
    "history",
    "layers",
    "networks",
    "rules",
    "saved",
    "sharing_and_memory",
    "views",
    "vocabulary",
    "writes",
]
