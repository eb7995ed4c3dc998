"""Faults in assignment by index, in the checks before a write, and in kernels that write."""

from functools import partial

from ..mutation import mutation

indexing = partial(mutation, "minitensor/engine/views/indexing.py")
writing = partial(mutation, "minitensor/engine/saved/writing.py")
operands = partial(mutation, "minitensor/engine/operations/operands.py")

indexing(
    "every-value-of-a-repeated-index-counts",
    "If an index names a cell twice, both values get its gradient.",
    "taken = np.where(stays == turns, g[plain], 0)",
    "taken = g[plain]",
    "indexing::test_the_gradient_of_a_write_agrees_with_central_differences",
)  # fmt: skip
indexing(
    "assigned-cells-keep-their-gradient",
    "Cells overwritten by x[index] = value at an advanced index keep their gradient.",
    "        rest[plain] = 0\n",
    "",
    "indexing::test_the_gradient_of_a_write_agrees_with_central_differences",
)  # fmt: skip
indexing(
    "repeated-read-counts-once",
    "An element that an index reads twice gets only one gradient.",
    "add_at(whole, node.saved[0], g)  # the gradient of an element that was read twice is a sum",
    "whole[node.saved[0]] = g",
    "indexing::test_the_gradient_of_a_read_agrees_with_central_differences",
)  # fmt: skip
indexing(
    "set-value-leaves-the-old-gradient",
    "set_value on a tensor that requires a gradient is not recorded.",
    "    if recorded:\n        set_part(x, x._array, None)",
    "    pass",
    "writes::test_elements_overwritten_with_a_constant_have_gradient_zero_and_not_none",
)  # fmt: skip
indexing(
    "set-value-writes-a-leaf-through-a-view",
    "set_value writes a leaf through a view of it.",
    "        if not x.is_leaf:\n            raise leaf_written(\"set_value\", x, is_view=True)\n",
    "",
    "members",
)  # fmt: skip
indexing(
    "indexed-write-counts-as-a-whole-write",
    "x[index] = value at an advanced index counts as a write of all of x.",
    "assign, x._array, plain, numbers, index=plain)",
    "assign, x._array, plain, numbers)",
    "copy_on_write::test_a_write_preserves_the_cells_that_it_overwrites",
)  # fmt: skip
writing(
    "setitem-does-not-look-for-savers",
    "x[index] = value, set_value and optimizer steps do not look for savers of the overwritten values.",
    "plan = None if storage.savers is None else before_write(storage, array, None, index)",
    "plan = None",
    "copy_on_write_policies::test_the_policy_of_the_write_and_not_of_the_save_decides_if_values_are_preserved",
)  # fmt: skip
indexing(
    "set-value-does-not-look-for-savers",
    "set_value does not look for savers of the overwritten values.",
    'write(x._storage, x._array, "set_value", None, overwrite, x._array, numbers)',
    "overwrite(x._array, numbers)\n    x._storage.version += 1",
    "copy_on_write_writers::test_every_kind_of_write_preserves_saved_values",
)  # fmt: skip
indexing(
    "leaf-not-protected-from-setitem",
    "x[index] = value writes a leaf that requires a gradient.",
    "                check_target(x, op)",
    "                pass",
    "leaves::test_a_write_through_a_view_of_a_leaf_is_refused",
)  # fmt: skip
indexing(
    "setitem-notifies-no-views",
    "x[index] = value does not notify the other members of the group.",
    "    history.version += 1\n    current(x)",
    "    current(x)",
    "autograd::test_a_chain_of_several_dtypes_has_the_exact_gradient",
)  # fmt: skip
indexing(
    "index-array-is-shared",
    "A node keeps the given index array, so a later write into it changes the gradient.",
    "        found = np.array(entry)",
    "        found = np.asarray(entry)",
    "indexing::test_an_index_that_changes_later_does_not_change_the_gradient",
)  # fmt: skip
indexing(
    "shape-of-a-value-is-not-checked",
    "x[index] = value does not refuse a value of an unsuitable shape.",
    "        fits = False",
    "        fits = True",
    "stored_values",
)  # fmt: skip
operands(
    "protected-from-ops-not-checked",
    "A recorded write does not check whether the target is a leaf.",
    "    if is_protected(x):\n        raise leaf_written",
    "    if False:\n        raise leaf_written",
    "leaves::test_the_error_quotes_paddles_message_names_the_leaf_and_suggests_remedies",
)  # fmt: skip
operands(
    "zeros-of-both-signs-are-one",
    "A constant -0.0 is confused with 0.0 after 0.0 was used.",
    """ in ("builtins", "numpy") and (value != 0 or type(value) is int):""",
    """ in ("builtins", "numpy"):""",
    "operations::test_zero_and_minus_zero_stay_distinct",
)  # fmt: skip
operands(
    "float-written-into-integers",
    "An integer tensor accepts a floating operand in place and truncates it.",
    "if (source in FLOATS and result not in FLOATS) or result == np.bool_:",
    "if result == np.bool_:",
    "dtypes::test_an_in_place_operation_keeps_the_dtype_or_is_refused",
)  # fmt: skip
operands(
    "gradient-of-a-cast-has-the-wrong-dtype",
    "The gradient of a cast has the dtype of the result.",
    "    return (converted(g, source),)",
    "    return (g,)",
    "stored_values",
)  # fmt: skip
operands(
    "cast-is-not-recorded",
    "An operand that is converted to another dtype loses its history.",
    "    if dtype in FLOATS and (not paused.threads or modes.grad):\n        node = x._current()\n",
    "    if False:\n        node = x._current()\n",
    "stored_values",
)  # fmt: skip
operands(
    "numpy-numbers-wrap-around",
    "A numpy integer that does not fit wraps around.",
    "        value = value.item()  # a numpy integer would wrap around",
    "        pass",
    "stored_values",
)  # fmt: skip
mutation(
    "minitensor/engine/kernels/numbers.py",
    "numpy-left-to-find-overlap",
    "Overlapping copies are left to numpy, which misses some.",
    "    if may_share(numbers, target):\n        numbers = numbers.copy()\n",
    "",
    "stored_values",
)  # fmt: skip
mutation(
    "minitensor/engine/kernels/numbers.py",
    "nan-stored-into-integers",
    "nan, or a number that is too large, is stored into integers.",
    "        if not (bounds.min <= lowest and highest <= bounds.max):",
    "        if bounds.min > lowest or highest > bounds.max:",
    "stored_values",
)  # fmt: skip
mutation(
    "minitensor/engine/kernels/elementwise.py",
    "negative-powers-found-too-late",
    "An integer power in place fails after writing half of the elements.",
    "    if a.dtype not in FLOATS and (out is not None or type(a) is not ndarray) and (b < 0).any():",
    "    if False:",
    "all_or_nothing_values::test_an_error_in_the_middle_of_the_elements_leaves_the_first_elements_unchanged",
)  # fmt: skip
mutation(
    "minitensor/engine/kernels/elementwise.py",
    "bias-scaled-when-it-should-not-be",
    "scale multiplies its bias by the factor even if bias_after_scale is True.",
    "    if not bias_after_scale:\n        bias",
    "    if True:\n        bias",
    "operations::test_the_result_equals_that_of_numpy",
)  # fmt: skip
mutation(
    "minitensor/engine/kernels/indexed.py",
    "index-not-checked",
    "An index out of range is not checked, and a negative one is not converted.",
    "    index = index.astype(np.int64, order=\"C\")\n    if not index.size:",
    "    index = index.astype(np.int64, order=\"C\")\n    if True:",
    "indexed_refusals::test_an_index_out_of_range_is_refused_before_anything_is_written",
)  # fmt: skip
