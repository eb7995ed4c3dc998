"""The dtypes of the reference: which are floats, to which two are promoted, and in which it computes."""

from __future__ import annotations

import importlib.util

import numpy as np

NAMES = {np.dtype(name): name for name in ("bool", "int64", "float16", "float32", "float64")}
if importlib.util.find_spec("ml_dtypes"):
    import ml_dtypes

    NAMES[np.dtype(ml_dtypes.bfloat16)] = "bfloat16"
DTYPES = {name: dtype for dtype, name in NAMES.items()}
#: The relative distance of two numbers, for dtypes of 16 bits.
SPACING = {"float16": 2**-10, "bfloat16": 2**-7}
_ORDER = ("bool", "int64", "float16", "bfloat16", "float32", "float64")
_WIDER = {DTYPES[name]: width for width, name in enumerate(_ORDER) if name in DTYPES}


def is_float(dtype: np.dtype) -> bool:
    """True for a dtype whose tensors may have gradients."""
    return NAMES[dtype].endswith(("16", "32")) or NAMES[dtype] == "float64"


def promoted(dtypes: list[np.dtype]) -> np.dtype:
    """Return the dtype of a result: the widest, but float32 for the two dtypes of 16 bits."""
    halves = {dtype for dtype in dtypes if NAMES[dtype] in SPACING}
    widest = max(dtypes, key=_WIDER.__getitem__)
    return DTYPES["float32"] if len(halves) == 2 and widest in halves else widest


def computed(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which operations on ``dtype`` are computed before their result is rounded."""
    return DTYPES["float32"] if NAMES[dtype] in SPACING else dtype
