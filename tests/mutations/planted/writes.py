"""Faults in assignment by index, in what comes before a write, and in kernels that write."""

from functools import partial

from ..mutation import mutation

indexing = partial(mutation, "indexing.py")
operands = partial(mutation, "operands.py")

indexing(
    "every-value-of-a-repeated-index-counts",
    "Where an index names a cell twice, both values get its gradient.",
    "taken = np.where(order[plain] == turns, g[plain], g.dtype.type(0))",
    "taken = g[plain]",
    "indexing", "infinite_views",
)  # fmt: skip
indexing(
    "assigned-cells-keep-their-gradient",
    "What x[index] = value overwrites at an advanced index keeps its gradient.",
    "        rest[plain] = 0\n",
    "",
    "indexing", "infinite_views",
)  # fmt: skip
indexing(
    "repeated-read-counts-once",
    "An element that an index takes twice gets one gradient.",
    "np.add.at(whole, node.saved[0], g)  # an element taken twice gets both gradients",
    "whole[node.saved[0]] = g",
    "indexing",
)  # fmt: skip
indexing(
    "value-read-while-it-is-overwritten",
    "x[index] = value does not copy a value that lies in the memory of x.",
    "if advanced and np.may_share_memory(numbers, x._array):",
    "if False:",
    "indexing", "writes",
)  # fmt: skip
indexing(
    "set-value-leaves-the-old-gradient",
    "set_value on a tensor that wants a gradient is not recorded.",
    "    if recorded:\n        _set_part(x, x._array, None)",
    "    pass",
    "writes", "leaves",
)  # fmt: skip
indexing(
    "view-of-a-leaf-takes-set-value",
    "set_value writes a leaf through a view of it.",
    "        if not x.is_leaf:\n            raise leaf_written(x.name, \"set_value\", is_view=True)\n",
    "",
    "leaves",
)  # fmt: skip
indexing(
    "an-index-takes-everything",
    "x[index] = value at an advanced index is taken for a write of all of x.",
    "before_write(storage, x._array, index=plain) if advanced",
    "before_write(storage, x._array) if advanced",
    "copy_on_write", "copy_on_write_policies",
)  # fmt: skip
indexing(
    "setitem-asks-no-savers",
    "x[index] = value does not look for those who saved what it overwrites.",
    "    if storage.savers is not None:\n        plan = before_write",
    "    if False:\n        plan = before_write",
    "copy_on_write_policies", "stale",
)  # fmt: skip
indexing(
    "set-value-asks-no-savers",
    "set_value does not look for those who saved what it overwrites.",
    "plan = None if storage.savers is None else before_write(storage, x._array)",
    "plan = None",
    "copy_on_write_policies", "copy_on_write",
)  # fmt: skip
indexing(
    "leaf-not-protected-from-setitem",
    "x[index] = value writes a leaf that wants a gradient.",
    "                check_target(x, op)",
    "                pass",
    "leaves", "all_or_nothing",
)  # fmt: skip
indexing(
    "setitem-tells-no-views",
    "x[index] = value does not tell the other members of the family.",
    "    history.epoch += 1\n    current(x)",
    "    current(x)",
    "autograd", "alias_programs",
)  # fmt: skip
indexing(
    "index-array-is-shared",
    "A node keeps the index array that it was given, and a later write into that changes the gradient.",
    "        return np.array(entry)",
    "        return np.asarray(entry)",
    "indexing",
)  # fmt: skip
indexing(
    "shape-of-a-value-is-not-checked",
    "x[index] = value goes on with a value that does not fit.",
    "        fits = False",
    "        fits = True",
    "bad_input", "indexing", "all_or_nothing",
)  # fmt: skip
operands(
    "family-that-overlaps-may-be-written",
    "A recorded write into memory that overlapping elements share goes on.",
    "    if x._history is not None and overlaps_itself(x._history.founder):\n        raise overlapping_family(op)",
    "    pass",
    "views", "all_or_nothing",
)  # fmt: skip
operands(
    "protected-from-ops-not-checked",
    "Before a recorded write nobody asks whether the target is a leaf.",
    "    if is_protected(x):\n        raise leaf_written",
    "    if False:\n        raise leaf_written",
    "leaves",
)  # fmt: skip
operands(
    "zeros-of-both-signs-are-one",
    "A constant -0.0 is taken for 0.0 once that has been used.",
    "    if value != 0 or type(value) is int:  # 0.0 and -0.0 would share a key",
    "    if True:",
    "operations", "bad_operands", "unusual_input",
)  # fmt: skip
operands(
    "float-written-into-integers",
    "An integer tensor takes a floating operand in place, cut off.",
    "if (have in FLOATS and want not in FLOATS) or want == np.bool_:",
    "if want == np.bool_:",
    "dtypes", "all_or_nothing_values",
)  # fmt: skip
operands(
    "cast-gives-its-gradient-in-the-wrong-dtype",
    "The gradient of a cast has the dtype of the result.",
    "    return (g.astype(source),)",
    "    return (g,)",
    "dtypes",
)  # fmt: skip
operands(
    "cast-is-not-recorded",
    "An operand that is brought to another dtype loses its history.",
    "    if modes.grad and dtype in FLOATS:\n        node = x._current()\n        if node is not None:",
    "    if False:\n        node = x._current()\n        if node is not None:",
    "dtypes",
)  # fmt: skip
operands(
    "numpy-numbers-wrap-around",
    "A numpy integer that does not fit wraps around.",
    "        value = value.item()  # numpy would let its own integers wrap around",
    "        pass",
    "dtypes", "bad_operands", "unusual_input",
)  # fmt: skip
mutation(
    "kernels/numbers.py",
    "numpy-left-to-find-overlap",
    "Overlapping copies are left to numpy, which misses some.",
    "    if np.may_share_memory(target, numbers):\n        numbers = numbers.copy()\n",
    "",
    "writes", "indexing",
)  # fmt: skip
mutation(
    "kernels/numbers.py",
    "nan-stored-into-integers",
    "A nan, or a number that is too large, is stored into integers.",
    "        if not (bounds.min <= lowest and highest <= bounds.max):",
    "        if bounds.min > lowest or highest > bounds.max:",
    "dtypes", "unusual_input", "all_or_nothing_values",
)  # fmt: skip
mutation(
    "kernels/elementwise.py",
    "negative-powers-found-on-the-way",
    "An integer power in place fails when half of it is written.",
    "    if out is not None and a.dtype not in FLOATS and (b < 0).any():",
    "    if False:",
    "all_or_nothing_values",
)  # fmt: skip
mutation(
    "kernels/elementwise.py",
    "bias-scaled-when-it-should-not-be",
    "scale multiplies its bias whatever bias_after_scale says.",
    "    if not bias_after_scale:\n        bias",
    "    if True:\n        bias",
    "operations", "in_place",
)  # fmt: skip
mutation(
    "kernels/indexed.py",
    "index-not-checked",
    "An index that reaches outside is found by numpy, and a negative one is not brought to the front.",
    "    index = np.array(index, np.int64, order=\"C\")\n    if not index.size:",
    "    index = np.array(index, np.int64, order=\"C\")\n    if True:",
    "indexed_refusals", "indexed_writes",
)  # fmt: skip
