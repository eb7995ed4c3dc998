"""Comparisons. The result is a bool tensor; in place, the truth values are stored in the dtype of x."""

import numpy as np

from minitensor.engine.table.rows import each

for _name, _forward, _relation, _aliases in (
    ("equal", np.equal, "equal to", ()),
    ("not_equal", np.not_equal, "not equal to", ()),
    ("less_than", np.less, "less than", ("less",)),
    ("less_equal", np.less_equal, "less than or equal to", ()),
    ("greater_than", np.greater, "greater than", ()),
    ("greater_equal", np.greater_equal, "greater than or equal to", ()),
):
    each(_name, _forward, "x y", f"True where x is {_relation} y; a bool tensor.",
         not_differentiable=True, aliases=_aliases)  # fmt: skip
