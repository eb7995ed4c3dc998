"""Comparisons. The result is a bool tensor; in place, the truth values are stored in the dtype of x."""

import numpy as np

from minitensor.engine.table.rows import each

for _name, _compare, _aliases in (
    ("equal", np.equal, ()),
    ("not_equal", np.not_equal, ()),
    ("less_than", np.less, ("less",)),
    ("less_equal", np.less_equal, ()),
    ("greater_than", np.greater, ()),
    ("greater_equal", np.greater_equal, ()),
):
    each(_name, _compare, "x y", f"Elementwise {_name.replace('_', ' ')}; a bool tensor.",
         not_differentiable=True, aliases=_aliases)  # fmt: skip
