"""Write the parameters and dtypes of CuPy's NumPy-compatible functions to cupy-functions.json.

python facts/cupy_functions.py      in an environment that has cupy, scipy and numpy; no GPU is needed
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cupyx.scipy import special

#: The type codes of bool, int32, int64, float16, float32, float64 and uint8, as in `np.dtype.char`.
KINDS = "?ilefdB"


def _parameters(function: Any) -> list[str] | None:
    """Return the names of a function's parameters; None if they are unknown."""
    try:
        return [name for name in inspect.signature(function).parameters if name != "self"]
    except (TypeError, ValueError):
        # Compiled methods list their parameters in the first line of their documentation.
        first = (getattr(function, "__doc__", None) or "").partition("\n")[0]
        found = re.match(r"[\w.]+\((?:self(?:, )?)?(.*?)\)(?: ->.*)?$", first)
        return None if found is None else re.findall(r"(\w+)(?==|,|$)", re.sub(r"=[^,]*", "=", found[1]))


def _loops(ufunc: Any) -> list[str]:
    """Return the type signatures of a ufunc that use only ``KINDS`` and ``q``, in the order in which CuPy
    tries them.
    """
    return [loop for loop in ufunc.types if set(loop.replace("->", "")) <= set(KINDS + "q")]


def main() -> None:
    """Record the functions CuPy shares with NumPy, the ufuncs of cupyx.scipy.special, and the array methods."""
    ufuncs, functions = {}, {}
    for name in sorted(dir(np)):
        cupy_function = getattr(cupy, name, None)
        if name.startswith("_") or cupy_function is None:
            continue
        if isinstance(getattr(np, name), np.ufunc):
            ufuncs[name] = _loops(cupy_function) if hasattr(cupy_function, "types") else []
        elif inspect.isroutine(getattr(np, name)) and not isinstance(getattr(np, name), type):
            functions[name] = _parameters(cupy_function)
    of_scipy = {
        name: _loops(getattr(special, name))
        for name in sorted(dir(special))
        if not name.startswith("_") and hasattr(getattr(special, name), "types")
    }
    methods = {
        name: _parameters(getattr(cupy.ndarray, name))
        for name in sorted(dir(cupy.ndarray))
        if not name.startswith("_") and callable(getattr(cupy.ndarray, name))
    }
    record = {
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "command": "python facts/cupy_functions.py",
        "ufuncs": ufuncs,
        "scipy.special": of_scipy,
        "functions": functions,
        "methods": methods,
    }
    path = Path(__file__).with_name("cupy-functions.json")
    path.write_text(
        re.sub(r"\[\s+([^\[\]]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", json.dumps(record, indent=1)) + "\n"
    )


if __name__ == "__main__":
    main()
