"""The mutations, by the part of the engine that they are planted in."""

from . import generated, gradients, history, layers, rules, saved, views, writes

__all__ = ["generated", "gradients", "history", "layers", "rules", "saved", "views", "writes"]
