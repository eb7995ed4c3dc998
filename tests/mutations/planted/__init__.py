"""The mutations: one module for each part of the engine."""

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
