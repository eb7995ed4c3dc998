"""Faults in the derivative table and in functions that its rules call."""

from functools import partial

from ..mutation import mutation

arithmetic = partial(mutation, "minitensor/engine/table/arithmetic.py")
functions = partial(mutation, "minitensor/engine/table/functions.py")
on_arrays = partial(mutation, "minitensor/engine/operations/rules/on_arrays.py")
on_tensors = partial(mutation, "minitensor/engine/autograd/rules/on_tensors.py")

functions(
    "sine-saves-its-output",
    "The rule of the sine saves its output instead of its input.",
    'x="g * cos(x)"',
    'x="g * cos(out)"',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
functions(
    "tanh-with-the-wrong-sign",
    "The slope of tanh has a plus instead of a minus.",
    'x="g * (1 - out * out)", namespaces="TmF"',
    'x="g * (1 + out * out)", namespaces="TmF"',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
functions(
    "base-of-a-logarithm-forgotten",
    "The slope of log2 is that of the natural logarithm.",
    'x="g / (x * 0.6931471805599453)"',
    'x="g / x"',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
arithmetic(
    "square-without-its-two",
    "The slope of the square misses its factor.",
    'x="g * 2 * x"',
    'x="g * x"',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
arithmetic(
    "subtract-adds",
    "The gradient of a difference's second operand has the wrong sign.",
    'x="g", y="-g", aliases=("sub",)',
    'x="g", y="g", aliases=("sub",)',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
arithmetic(
    "operands-of-a-product-swapped",
    "The slope for each operand of a product is the value of this operand, not of the other.",
    'x="g * y", y="g * x", aliases=("mul",)',
    'x="g * x", y="g * y", aliases=("mul",)',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
arithmetic(
    "both-get-the-gradient-of-a-tie",
    "If the operands of maximum are equal, both get the whole gradient.",
    'x="where(x > y, g, 0)", y="where(y >= x, g, 0)")',
    'x="where(x >= y, g, 0)", y="where(y >= x, g, 0)")',
    "operations::test_if_the_operands_of_maximum_or_minimum_are_equal_the_second_gets_the_gradient",
)  # fmt: skip
arithmetic(
    "clip-multiplies-by-a-mask",
    "The gradient of elements that clip cut off is multiplied by 0, so an infinite gradient becomes nan.",
    'marks={"passed": "inside(x, min, max)"}, x="where(passed, g, 0)")',
    'marks={"passed": "inside(x, min, max)"}, x="g * passed")',
    "infinite::test_inf_and_nan_in_elements_that_an_operation_does_not_read_change_no_gradient",
)  # fmt: skip
mutation(
    "minitensor/engine/table/activations.py",
    "relu-passes-every-gradient",
    "relu does not stop the gradient of negative elements.",
    'x="where(out > 0, g, 0)"',
    'x="where(out > 0, g, g)"',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
mutation(
    "minitensor/engine/table/constants.py",
    "filling-keeps-the-gradient",
    "Values overwritten by fill_ keep their gradient.",
    'signature="x, value", prepare=kernels.fill_arguments, x="zeros_like(g)"',
    'signature="x, value", prepare=kernels.fill_arguments, x="g"',
    "in_place::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
mutation(
    "minitensor/engine/table/masked.py",
    "masked-fill-multiplies-by-a-mask",
    "The gradient of values overwritten by masked_fill is multiplied by 0.",
    'x="where(mask, 0, g)", value="where(mask, g, 0)"',
    'x="g * logical_not(mask)", value="where(mask, g, 0)"',
    "infinite",
)  # fmt: skip
mutation(
    "minitensor/engine/table/reducing.py",
    "mean-is-a-sum",
    "The gradient of a mean is not divided.",
    'x="spread(g / along(shape, axis), shape, axis, keepdim)"',
    'x="spread(g, shape, axis, keepdim)"',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
mutation(
    "minitensor/engine/table/indexed.py",
    "alpha-forgotten",
    "index_add does not scale the gradient of its value.",
    'value="index_select(g, index, axis) * alpha"',
    'value="index_select(g, index, axis)"',
    "indexed_writes::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
mutation(
    "minitensor/engine/table/matrices.py",
    "addmm-without-transposing",
    "A matrix product's gradient is not transposed.",
    '"x": "matmul(g, y, False, True) * alpha"',
    '"x": "matmul(g, y, False, False) * alpha"',
    "indexed_writes::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
on_arrays(
    "clip-has-slope-1-at-its-lower-bound",
    "The slope of clip at its lower bound is 1.",
    "return np.logical_and(x > min, x < max)",
    "return np.logical_and(x >= min, x < max)",
    "operations::test_the_slope_of_abs_relu_clip_and_round_at_a_kink_is_the_documented_one",
)  # fmt: skip
on_arrays(
    "ties-get-the-whole-gradient",
    "Tied extremes do not share the gradient.",
    "np.broadcast_to(g / shares.astype(g.dtype), x.shape)",
    "np.broadcast_to(g, x.shape)",
    "operations::test_equal_largest_or_smallest_elements_share_the_gradient",
)  # fmt: skip
mutation(
    "minitensor/engine/kernels/reducing.py",
    "leading-ones-summed-from-the-front",
    "A gradient with fewer dimensions than its input is aligned at the first dimension.",
    "        g = g.reshape((1,) * (len(shape) - g.ndim) + g.shape)",
    "        g = g.reshape(g.shape + (1,) * (len(shape) - g.ndim))",
    "writes::test_a_stored_value_may_have_leading_dimensions_of_length_one",
)  # fmt: skip
on_arrays(
    "power-multiplies-by-a-slope-of-zero",
    "x ** 0 multiplies the incoming gradient by 0.",
    "            return np.zeros_like(g)\n",
    "            return g * 0\n",
    "infinite::test_elements_that_an_operation_does_not_select_get_gradient_0",
)  # fmt: skip
on_arrays(
    "product-of-others-counts-itself",
    "The slope of a product along an axis includes the element itself.",
    "before[..., 1:] = np.cumprod(rows[..., :-1], axis=-1)",
    "before[...] = np.cumprod(rows, axis=-1)",
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
on_tensors(
    "pairs-of-a-product-count-themselves",
    "Second order: the slope of a product along an axis includes the element itself.",
    "_where(constant(itself.copy()), 1.0, pairs)",
    "_where(constant(itself.copy()), 2.0, pairs)",
    "gradients_of_every_op::test_first_and_second_derivatives_equal_finite_differences[prod]",
)  # fmt: skip
on_tensors(
    "mixed-slope-of-a-power-cut-off",
    "Second order: the slope of x ** y does not depend on y if y is 0.",
    "    if not y.stop_gradient:\n",
    "    if False:\n",
    "infinite::test_at_power_0_the_derivative_for_x_is_0_and_the_mixed_second_derivative_is_1_over_x",
)  # fmt: skip
on_tensors(
    "second-order-clip-passes-every-gradient",
    "Second order: clip lets every gradient pass.",
    "return constant(on_arrays.inside(x._array, min, max))",
    "return constant(on_arrays.inside(x._array, None, None))",
    "infinite::test_inf_and_nan_in_elements_that_an_operation_does_not_read_change_no_gradient",
)  # fmt: skip
mutation(
    "minitensor/engine/operations/rules/on_arrays_along_axis.py",
    "every-assigned-value-gets-the-gradient",
    "put_along_axis: if several values are assigned to one element, each of them gets its gradient.",
    "gradient = np.where(last_of_each(flat), taken(g, flat), g.dtype.type(0))",
    "gradient = taken(g, flat)",
    "indexed_writes::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
mutation(
    "minitensor/engine/operations/rules/on_arrays_indexed.py",
    "overwritten-rows-get-the-gradient",
    "scatter: both updates of a row that was assigned twice get the gradient.",
    "        taken[~last_of_each(rows)] = 0\n",
    "        pass\n",
    "indexed_writes::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
mutation(
    "minitensor/engine/operations/rules/on_arrays_functions.py",
    "doubling-stops-early",
    "cumprod: long rows lose the gradient of distant elements.",
    "        stretch *= 2\n",
    "        stretch *= 3\n",
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
