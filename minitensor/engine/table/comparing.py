"""Comparisons. The result is a bool tensor; in place, the truth values are stored in the dtype of x."""

import numpy as np

from minitensor.engine.table.rows import each

for _name, _aliases in {
    "equal": (),
    "not_equal": (),
    "less": ("less",),
    "less_equal": (),
    "greater": (),
    "greater_equal": (),
}.items():
    _paddle = {"less": "less_than", "greater": "greater_than"}.get(_name, _name)
    each(_paddle, getattr(np, _name), "x y", f"Elementwise {_name.replace('_', ' ')}; a bool tensor.",
       not_differentiable=True, aliases=_aliases)  # fmt: skip
