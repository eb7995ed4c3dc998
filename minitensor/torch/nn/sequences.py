"""Modules for sequences: embeddings and attention. Recurrent modules are in ``recurrences``."""

from __future__ import annotations

from typing import Any

from minitensor.engine import checks
from minitensor.torch.arguments import dropout_probability, need_tensor
from minitensor.torch.autograd import no_grad
from minitensor.torch.creation import empty, zeros
from minitensor.torch.dtypes import bool_
from minitensor.torch.nn import functional as F
from minitensor.torch.nn import init
from minitensor.torch.nn.layers import Linear
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.tensor import Tensor


class Embedding(Module):
    """Return a row of ``weight`` for each index: see ``functional.embedding``.

    The input holds integers and may have any shape. The result has one dimension more, of length ``embedding_dim``;
    ``weight`` has the shape [num_embeddings, embedding_dim].

    Raises:
        RuntimeError: if a size is negative.
        AssertionError: if ``padding_idx`` is not the number of a row.
        IndexError: if an index is not the number of a row.
        TypeError: if the input does not hold integers.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__()
        num_embeddings = checks.integer("Embedding()", "num_embeddings", num_embeddings)
        embedding_dim = checks.integer("Embedding()", "embedding_dim", embedding_dim)
        if padding_idx is not None:
            padding_idx = checks.integer("Embedding()", "padding_idx", padding_idx)
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.weight = Parameter(empty((num_embeddings, embedding_dim)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the rows again, and fill the row ``padding_idx`` with 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class MultiheadAttention(Module):
    """Attention with ``num_heads`` heads. A call returns a pair: the result, and None instead of attention weights.

    Inputs and result have the shape [time, batch, embed_dim], or [batch, time, embed_dim] with ``batch_first=True``.

    Raises:
        AssertionError: if ``embed_dim`` is not a multiple of ``num_heads``.
        RuntimeError: if an input has another shape.
        ValueError: on a call, if ``need_weights`` is true.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, batch_first: bool = False
    ) -> None:
        super().__init__()
        op = "MultiheadAttention()"
        embed_dim = checks.integer(op, "embed_dim", embed_dim, least=1)
        num_heads = checks.integer(op, "num_heads", num_heads, least=1)
        dropout = dropout_probability("MultiheadAttention", "dropout", dropout)
        bias, batch_first = checks.flag(op, "bias", bias), checks.flag(op, "batch_first", batch_first)
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.in_proj_weight = Parameter(empty((3 * embed_dim, embed_dim)))
        self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        need_weights: bool = False,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> tuple[Tensor, None]:
        """Return a pair: the result, and None instead of attention weights.

        Args:
            attn_mask: bools, True for the keys that a query may *not* see, or floats that are added to the scores.

        Raises:
            ValueError: if ``need_weights`` is true, because the attention weights are not stored.
            RuntimeError: if an input does not have three dimensions.
        """
        for position, (name, x) in enumerate((("query", query), ("key", key), ("value", value)), start=1):
            need_tensor("MultiheadAttention", x, position, name)
            if x._array.ndim != 3:
                raise RuntimeError(
                    f"MultiheadAttention(): {name} must have the three dimensions of time, batch and length; its shape "
                    f"is {list(x._array.shape)}"
                )
        if attn_mask is not None:
            need_tensor("MultiheadAttention", attn_mask, 5, "attn_mask")
        is_causal = checks.flag("MultiheadAttention()", "is_causal", is_causal)
        if checks.flag("MultiheadAttention()", "need_weights", need_weights):
            raise ValueError("MultiheadAttention: need_weights must be False; the weights are not kept")
        if attn_mask is not None and attn_mask.dtype is bool_:
            attn_mask = attn_mask.logical_not()
        weights = self.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        heads: list[Any] = []
        for x, weight, bias in zip((query, key, value), weights, biases, strict=True):
            x = x if self.batch_first else x.transpose(0, 1)
            projected = F.linear(x, weight, bias)
            heads.append(projected.reshape(*x.shape[:2], self.num_heads, -1).transpose(1, 2))
        q, k, v = heads
        causal = is_causal and attn_mask is None
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask, self.dropout if self.training else 0.0, causal)
        attended = attended.transpose(1, 2).flatten(2)
        attended = attended if self.batch_first else attended.transpose(0, 1)
        return self.out_proj(attended), None
