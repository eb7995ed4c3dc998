"""The dtypes of the reference: its floats, its rules of promotion, and the dtypes in which it computes."""

from __future__ import annotations

import importlib.util

import numpy as np

NAMES = {np.dtype(name): name for name in ("bool", "uint8", "int8", "int16", "int32", "int64")}
NAMES |= {np.dtype(name): name for name in ("float16", "float32", "float64")}
if importlib.util.find_spec("ml_dtypes"):
    import ml_dtypes

    NAMES[np.dtype(ml_dtypes.bfloat16)] = "bfloat16"
DTYPES = {name: dtype for dtype, name in NAMES.items()}
#: The relative distance of neighbouring numbers in dtypes of 16 bits.
SPACING = {"float16": 2**-10, "bfloat16": 2**-7}
#: The kinds of dtypes whose tensors may have gradients. The dtype bfloat16 has the kind "V" in numpy.
FLOATS = "fV"
_ORDER = ("float16", "bfloat16", "float32", "float64")
_WIDER = {DTYPES[name]: width for width, name in enumerate(_ORDER) if name in DTYPES}


def is_float(dtype: np.dtype) -> bool:
    """True for a dtype whose tensors may have gradients."""
    return dtype.kind in FLOATS


def promoted(dtypes: list[np.dtype]) -> np.dtype:
    """Return the dtype of a result: the widest float among the operands (float32 for float16 with bfloat16). Without
    floats, return the dtype that numpy promotes to.
    """
    floats = {dtype for dtype in dtypes if is_float(dtype)}
    if not floats:
        return np.result_type(*dtypes)
    widest = max(floats, key=_WIDER.__getitem__)
    return DTYPES["float32"] if len(floats) == 2 and NAMES[widest] in SPACING else widest


def rounded(given: object, dtype: np.dtype) -> object:
    """Return a Python float as the nearest number of ``dtype``, and anything else unchanged."""
    return float(np.asarray(given).astype(dtype)) if type(given) is float else given


def computed(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which operations on ``dtype`` are computed before their result is rounded."""
    return DTYPES["float32"] if NAMES[dtype] in SPACING else dtype
