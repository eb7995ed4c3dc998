"""Batch normalization over the batches of all ranks, under Paddle's name."""

from __future__ import annotations

import math
from typing import Any

from minitensor.distributed.collectives import all_reduce, sum_over_ranks
from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import full
from minitensor.engine.modes import no_grad
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.arguments import need_tensor
from minitensor.nn.layer import Layer
from minitensor.nn.normalizing import _BatchNorm


@checks.with_own_methods
class SyncBatchNorm(_BatchNorm):
    """Batch normalization of [rows, channels] or [images, channels, height, width] over the batches of all ranks.

    In training the ranks exchange two sums in forward and two in backward, so that the gradients are those of the whole
    batch in one process. The ranks may have batches of different sizes. After ``eval()`` the running mean and variance
    are used, without communication.

    Raises:
        RuntimeError: in training, before ``distributed.init_parallel_env()``.
        ValueError: if the input has another shape.
    """

    def forward(self, x: Tensor) -> Tensor:
        need_tensor("SyncBatchNorm", x)
        if not self.training:
            self.dimensions = x.ndim
            return super().forward(x)
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise ValueError(f"SyncBatchNorm: x must be [rows, {self.num_features}, ...], but its shape is {x.shape}")
        axes, per_channel = [0, *range(2, x.ndim)], [1, -1, *[1] * (x.ndim - 2)]
        total = FUNCTIONS["sum"]
        with no_grad():
            count = all_reduce(full([1], math.prod(x.shape) // self.num_features, "float64")).item()
        mean = sum_over_ranks(total(x, axes)) * (1 / count)
        centred = x - mean.reshape(per_channel)
        variance = sum_over_ranks(total(centred * centred, axes)) * (1 / count)
        with no_grad():
            for running, now in ((self._mean, mean), (self._variance, variance)):
                running.lerp_(now.detach(), 1 - self.momentum)
        scale = FUNCTIONS["rsqrt"](variance + self.epsilon)
        if self.weight is not None:
            scale = scale * self.weight
        normal = centred * scale.reshape(per_channel)
        return normal if self.bias is None else normal + self.bias.reshape(per_channel)

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Any:
        """Replace every batch normalization inside ``layer`` by a synchronized one with the same parameters.

        Return ``layer``, or its replacement if it is a batch normalization itself.
        """
        checks.instance("convert_sync_batchnorm", "layer", layer, Layer, "a Layer")
        if isinstance(layer, _BatchNorm):
            attributes = (False if each is None else None for each in (layer.weight, layer.bias))
            converted = cls(layer.num_features, layer.momentum, layer.epsilon, *attributes)
            for name in ("weight", "bias", "_mean", "_variance"):
                setattr(converted, name, getattr(layer, name))
            converted.training = layer.training
            return converted
        for name, inner in list(layer._inside()):
            setattr(layer, name, cls.convert_sync_batchnorm(inner))
        return layer
