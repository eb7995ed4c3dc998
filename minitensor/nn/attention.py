"""Layers of transformers, under Paddle's names."""

from __future__ import annotations

from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape
from minitensor.engine.layers import attention
from minitensor.engine.layers.custom_operation import floats_of
from minitensor.engine.operations.arguments import need_tensor
from minitensor.nn.initializer import Normal
from minitensor.nn.layer import Layer
from minitensor.nn.layers import Linear, need_attrs


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return ``softmax(query @ key.T / sqrt(length)) @ value`` for each head (Vaswani et al. 2017).

    Args:
        query, key, value: of shape [batch, time, heads, length]. The result has the shape of ``query``, but with the
            length of ``value``.
        attn_mask: bools, True for the keys that a query may see, or floats that are added to the scores; broadcast to
            [batch, heads, queries, keys].

    Raises:
        ValueError: if shapes do not fit.
        TypeError: if an input is not a tensor of floats.
    """
    op, given = "scaled_dot_product_attention", {"query": query, "key": key, "value": value}
    floats_of(op, **given)
    for what, x in given.items():
        if x.ndim != 4:
            raise ValueError(f"{op}: {what} must be [batch, time, heads, length], but its shape is {x.shape}")
    query, key, value = (x.transpose([0, 2, 1, 3]) for x in given.values())
    return attention.attend(query, key, value, attn_mask, dropout_p, is_causal, training).transpose([0, 2, 1, 3])


class Embedding(Layer):
    """Return a row of ``weight`` for each index: see :func:`~minitensor.nn.functional.embedding`.

    The input contains integers and may have any shape. The result has one more dimension, of length ``embedding_dim``;
    ``weight`` has the shape [num_embeddings, embedding_dim].

    Raises:
        ValueError: if a size is below 1.
        IndexError: if an index, or ``padding_idx``, is not the number of a row.
        TypeError: if the input is not a tensor of integers.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        sparse: bool = False,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        rows, length = (
            checks.integer("Embedding", name, given, 1)
            for name, given in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim))
        )
        need_attrs(weight_attr)
        if padding_idx is not None and not -rows <= checks.integer("Embedding", "padding_idx", padding_idx) < rows:
            raise IndexError(f"Embedding: padding_idx {padding_idx} is not a row; the number of rows is {rows}")
        self.padding_idx = padding_idx
        self.weight = self.create_parameter([rows, length], weight_attr, default_initializer=Normal(0.0, 1.0))
        if padding_idx is not None and self.weight is not None:
            numbers = self.weight.numpy()
            numbers[padding_idx] = 0.0
            self.weight.set_value(numbers)

    def forward(self, x: Tensor) -> Tensor:
        return attention.embedding(x, self._parameter("weight"), self.padding_idx)

    def extra_repr(self) -> str:
        return ", ".join(str(length) for length in self._parameter("weight").shape)


class MultiHeadAttention(Layer):
    """Attention with ``num_heads`` heads (Vaswani et al. 2017).

    The query and the result have the shape [batch, time, embed_dim], the key [batch, time, kdim] and the value [batch,
    time, vdim].

    Raises:
        ValueError: if ``embed_dim`` is not a multiple of ``num_heads``, if ``need_weights`` is true, or if an input has
            another shape.
        TypeError: if an input is not a tensor of floats.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        need_attrs(weight_attr, bias_attr)
        embed_dim = checks.integer("MultiHeadAttention", "embed_dim", embed_dim, 1)
        dropout = checks.probability("MultiHeadAttention", "dropout", dropout)
        inner = [
            embed_dim if given is None else checks.integer("MultiHeadAttention", name, given, 1)
            for name, given in (("kdim", kdim), ("vdim", vdim))
        ]
        if checks.flag("MultiHeadAttention", "need_weights", need_weights):
            raise ValueError("MultiHeadAttention: need_weights must be False; the weights cannot be returned")
        if embed_dim % checks.integer("MultiHeadAttention", "num_heads", num_heads, 1):
            raise ValueError(
                f"MultiHeadAttention: embed_dim must be a multiple of num_heads, but they are {embed_dim} and "
                f"{num_heads}"
            )
        for length in inner:  # refuse too large a length before the first layer draws random numbers
            as_shape("MultiHeadAttention", [length, embed_dim])
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(inner[0], embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(inner[1], embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def forward(
        self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None, attn_mask: Tensor | None = None
    ) -> Tensor:
        key = query if key is None else key
        value = key if value is None else value
        for name, x in (("query", query), ("key", key), ("value", value)):
            need_tensor("MultiHeadAttention", x, name)
            if x.ndim != 3:
                raise ValueError(
                    f"MultiHeadAttention: {name} must be [batch, time, length], but its shape is {x.shape}"
                )
        q, k, v = (
            layer(x).reshape([*x.shape[:2], self.num_heads, -1])
            for layer, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        attended = scaled_dot_product_attention(q, k, v, attn_mask, self.dropout, training=self.training)
        return self.out_proj(attended.reshape([*query.shape[:2], self.embed_dim]))

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}"
