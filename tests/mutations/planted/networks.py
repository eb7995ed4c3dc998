"""Faults in code for networks: losses, optimizers, selections, and sums of rows with repeated indices."""

from functools import partial

from ..mutation import mutation

cross_entropy = partial(mutation, "minitensor/engine/layers/cross_entropy.py")
optimizer = partial(mutation, "minitensor/optimizer/optimizer.py")
LARGE = "large_arrays"
FUNCTIONS = "tests/minitensor/vocabulary/test_paddle_functions.py"
OPTIMIZERS = "tests/minitensor/vocabulary/test_paddle_optimizers.py"

cross_entropy(
    "right-class-gets-the-probability",
    "The gradient of a row's right class is its probability, without subtracting 1.",
    "line[positions] = line.take(positions) - share.reshape(-1)",
    "line[positions] = line.take(positions)",
    FUNCTIONS,
)
cross_entropy(
    "ignored-rows-get-a-gradient",
    "Ignored rows get a gradient.",
    "        if settings.ignored is not None:\n            np.copyto(out, 0",
    "        if settings.soft:\n            np.copyto(out, 0",
    f"{LARGE}::test_cross_entropy_computed_in_blocks_equals_that_of_the_whole_array",
    FUNCTIONS,
)
cross_entropy(
    "negative-labels-are-accepted",
    "A negative label is accepted as a class.",
    "largest(given.view(_UNSIGNED[given.dtype]), None, False).item() < classes",
    "largest(given, None, False).item() < classes",
    FUNCTIONS,
)
mutation(
    "minitensor/engine/kernels/activations.py",
    "last-block-left-out",
    "If work is divided into blocks, the rows after the last full block are left out.",
    "for begin in range(0, len(a), step)]",
    "for begin in range(0, len(a) - step + 1, step)]",
    LARGE,
)
mutation(
    "minitensor/engine/kernels/indexed.py",
    "added-from-the-wrong-element",
    "Rows are added from the lowest address of a view, which is not its first element if a stride is negative.",
    "inside = np.asarray((address_of(out) - address_of(line)) // out.itemsize)",
    "inside = np.asarray(0)",
    LARGE,
)
mutation(
    "minitensor/engine/operations/rules/on_arrays.py",
    "selection-by-bits-selects-0",
    "where(condition, 0, b), computed on the bits of b, selects 0 where it should select b, and vice versa.",
    "np.multiply(array.view(bits), np.logical_not(condition), out=chosen)",
    "np.multiply(array.view(bits), condition, out=chosen)",
    LARGE,
)
optimizer(
    "last-piece-left-out",
    "An update leaves out the elements after the last full piece.",
    "        for begin in range(0, size, piece):\n",
    "        for begin in range(0, size - piece + 1, piece):\n",
    f"{OPTIMIZERS}::test_a_step_in_pieces_or_on_a_transposed_parameter_has_the_same_result",
)
optimizer(
    "optimizer-step-is-no-write",
    "An update of a parameter does not count as a write.",
    "write(storage, array, self._op, frame, update, numbers[step, key], arrays, buffers[key], piece)",
    "update(numbers[step, key], arrays, buffers[key], piece)",
    OPTIMIZERS,
)
optimizer(
    "optimizer-step-notifies-no-savers",
    "An update does not notify savers of the parameter.",
    "write(storage, array, self._op, frame, update, numbers[step, key], arrays, buffers[key], piece)",
    "update(numbers[step, key], arrays, buffers[key], piece)\n                storage.version += 1",
    OPTIMIZERS,
)
