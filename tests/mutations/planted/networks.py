"""Faults in what networks use: losses, optimizers, selections, sums of rows that are named more than once."""

from functools import partial

from ..mutation import mutation

cross_entropy = partial(mutation, "minitensor/engine/layers/cross_entropy.py")
optimizer = partial(mutation, "minitensor/optimizer/optimizer.py")
LARGE = "large_arrays"
FUNCTIONS = "tests/minitensor/vocabulary/test_paddle_functions.py"
OPTIMIZERS = "tests/minitensor/vocabulary/test_paddle_optimizers.py"

cross_entropy(
    "right-class-gets-the-probability",
    "The gradient of a row's right class is not 1 smaller than the others.",
    "line[right] = line.take(right) - share.reshape(-1)",
    "line[right] = line.take(right)",
    FUNCTIONS,
)
cross_entropy(
    "ignored-rows-get-a-gradient",
    "Rows that do not count get a gradient.",
    "return g if ignored is None else g * np.not_equal(label, ignored)",
    "return g",
    f"{LARGE}::test_cross_entropy_in_blocks_is_cross_entropy_at_once",
    FUNCTIONS,
)
cross_entropy(
    "negative-labels-pass",
    "A label below 0 is taken for a class.",
    "largest(given.view(_UNSIGNED[given.dtype]), None, False).item() < classes",
    "largest(given, None, False).item() < classes",
    FUNCTIONS,
)
mutation(
    "minitensor/engine/kernels/activations.py",
    "last-block-left-out",
    "What is done in blocks leaves out the rows after the last whole block.",
    "for begin in range(0, len(a), step)]",
    "for begin in range(0, len(a) - step + 1, step)]",
    LARGE,
)
mutation(
    "minitensor/engine/kernels/indexed.py",
    "added-from-the-wrong-element",
    "Rows of a view are added where its memory begins, wherever its first element lies.",
    "inside = np.asarray((address(out) - address(line)) // out.itemsize)",
    "inside = np.asarray(0)",
    LARGE,
)
mutation(
    "minitensor/engine/operations/rules/on_arrays.py",
    "selection-of-the-others",
    "By bits, 0 is selected where the other number should be.",
    "np.multiply(array.view(bits), np.logical_not(condition), out=chosen)",
    "np.multiply(array.view(bits), condition, out=chosen)",
    LARGE,
)
optimizer(
    "last-piece-left-out",
    "An update leaves out the elements after the last whole piece.",
    "        for begin in range(0, size, piece):\n",
    "        for begin in range(0, size - piece + 1, piece):\n",
    f"{OPTIMIZERS}::test_pieces_and_strides_make_no_difference",
)
optimizer(
    "step-is-no-write",
    "An update of a parameter does not count as a write.",
    "write(storage, array, self._op, frame, update, numbers[step, key], arrays, rooms[key], piece)",
    "update(numbers[step, key], arrays, rooms[key], piece)",
    OPTIMIZERS,
)
optimizer(
    "step-asks-no-savers",
    "An update does not tell those who saved the parameter.",
    "write(storage, array, self._op, frame, update, numbers[step, key], arrays, rooms[key], piece)",
    "update(numbers[step, key], arrays, rooms[key], piece)\n                storage.version += 1",
    OPTIMIZERS,
)
