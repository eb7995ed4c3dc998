"""Faults in views, regions and joins."""

from functools import partial

from ..mutation import mutation

regions = partial(mutation, "minitensor/engine/core/regions.py")
views = partial(mutation, "minitensor/engine/views/making.py")
parts = partial(mutation, "minitensor/engine/views/parts.py")
reshaping = partial(mutation, "minitensor/engine/views/reshaping.py")
transposing = partial(mutation, "minitensor/engine/views/transposing.py")
joining = partial(mutation, "minitensor/engine/views/joining.py")

regions(
    "overwritten-cells-keep-their-gradient",
    "A write through a view does not clear the gradient of the overwritten cells.",
    "            return None\n        taken = part.copy()\n        part.fill(0)\n",
    "            return None\n        taken = part.copy()\n",
    "part_gradients",
)  # fmt: skip
regions(
    "overwritten-cells-of-an-index-keep-their-gradient",
    "A write through an index of the base does not clear the gradient of the overwritten cells.",
    "        part = self(g)\n        taken = part.copy()\n        part.fill(0)\n",
    "        part = self(g)\n        taken = part.copy()\n",
    "part_gradients",
)  # fmt: skip
regions(
    "overwritten-cells-of-columns-keep-their-gradient",
    "A write to a base in column order does not clear the gradient of the overwritten cells.",
    "        part[...] = 0\n        return taken, ",
    "        return taken, ",
    "part_gradients",
)  # fmt: skip
regions(
    "offsets-of-a-view-used-in-column-order",
    "The offsets of a view, which are counted in C order, are used for a gradient in column order.",
    "if self.dense and g.flags.c_contiguous else None",
    "if self.dense else None",
    "part_gradients",
)  # fmt: skip
regions(
    "part-added-twice",
    "The gradient of a part is added to the sum twice.",
    "        add(cells, self.g, cells)\n        return True",
    "        add(cells, self.g, cells)\n        return False",
    "part_gradients",
)  # fmt: skip
regions(
    "overlapping-cells-get-one-gradient",
    "A cell that a view shows twice gets only the last gradient.",
    "add_at(cells, like(self.view.of(np.arange(self.extent)), g), g)",
    "self.view.of(cells)[...] = g",
    "views::test_a_cell_that_as_strided_shows_twice_gets_the_sum_of_both_gradients",
)  # fmt: skip
regions(
    "region-counted-from-the-first-element",
    "Offsets are counted from the base's first element, even if its strides are negative.",
    "return Extent(begin, length, whole, dense)",
    "return Extent(first, length, whole, dense)",
    "members",
)  # fmt: skip
regions(
    "touching-dimensions-do-not-overlap",
    "overlaps_itself returns False for an array whose dimensions share exactly one cell.",
    "        if step <= reach:",
    "        if step < reach:",
    "views::test_a_cell_that_as_strided_shows_twice_gets_the_sum_of_both_gradients",
)  # fmt: skip
regions(
    "overlapping-view-covers-everything",
    "covers returns True for a view that shows some cells twice and other cells not at all.",
    " and not overlaps_itself(view)",
    "",
    "savers",
)  # fmt: skip
regions(
    "second-order-read-shifted",
    "Second order: a view reads its part of the base in the wrong order.",
    "        self.base.of(cells)[...] = u\n        return",
    "        cells[: u.size] = u.ravel()\n        return",
    "members",
)  # fmt: skip
views(
    "view-does-not-join-its-group",
    "A view does not join the group of its base.",
    "        out._history = history\n        out._seen = history.version\n",
    "        out._history = None\n",
    "views::test_the_gradient_through_a_write_into_a_view_agrees_with_central_differences",
)  # fmt: skip
views(
    "view-under-no-grad-joins-its-group",
    "A view taken under no_grad joins the group, and a write through it is recorded.",
    "if node is None or not paused.threads or modes.grad:",
    "if True:",
    "modes::test_under_no_grad_nothing_is_recorded",
)  # fmt: skip
views(
    "leaf-may-be-reshaped",
    "A leaf may be reshaped in grad mode.",
    "if is_protected(x) and (not paused.threads or modes.grad):",
    "if False:",
    "members",
)  # fmt: skip
views(
    "reshape-loses-a-retained-gradient",
    "A reshaped tensor loses its retained gradient.",
    "            move_boxes(node, x._node)\n",
    "",
    "retained::test_a_retained_gradient_has_the_current_shape_of_its_tensor",
)  # fmt: skip
regions(
    "gradient-outside-of-the-part",
    "The gradient of a part is not 0 outside of the part.",
    "whole = np.zeros(shape, g.dtype, like=g)",
    "whole = np.ones(shape, g.dtype, like=g)",
    "part_gradients",
)  # fmt: skip
parts(
    "overlapping-view-may-be-written",
    "A view whose elements share memory is not marked as read-only.",
    "array = locked(restrided(cells[0 if empty else offset - begin :], lengths, tuple(s * size for s in steps)))",
    "array = restrided(cells[0 if empty else offset - begin :], lengths, tuple(s * size for s in steps))",
    "all_or_nothing::test_a_tensor_whose_elements_share_memory_is_not_written",
)  # fmt: skip
parts(
    "as-strided-reaches-outside",
    "as_strided accepts offsets beyond the group's memory.",
    "begin <= first and last < begin + extent",
    "begin <= first and last <= begin + extent",
    "views::test_as_strided_stays_inside_the_memory_of_its_tensor",
)  # fmt: skip
transposing(
    "gradient-of-a-transpose-permuted-like-the-value",
    "The gradient of a transpose is permuted like the value, and not by the inverse permutation.",
    "        back[p] = i",
    "        back[i] = p",
    "views::test_the_gradient_through_a_view_agrees_with_central_differences",
)  # fmt: skip
reshaping(
    "reshape-in-place-copies",
    "reshape_ copies if the memory order does not allow the shape.",
    "return reshaped if np.may_share_memory(reshaped, array) else None",
    "return reshaped",
    "views::test_a_copy_has_a_new_storage",
)  # fmt: skip
joining(
    "stack-gives-the-first-gradient-to-all",
    "Every tensor of a stack gets the gradient of the first.",
    "return [g[(slice(None),) * axis + (i, ...)] for",
    "return [g[(slice(None),) * axis + (0 * i, ...)] for",
    "views::test_the_gradient_through_a_copy_agrees_with_central_differences",
)  # fmt: skip
joining(
    "concat-jvp-begins-at-zero",
    "Second order: every part of a concatenation is written to the beginning of the result.",
    "begin = sum(lengths[:i])",
    "begin = 0 * sum(lengths[:i])",
    "backward_keeps_to_itself",
)  # fmt: skip
joining(
    "split-is-a-view",
    "The parts of a split share memory with the whole.",
    "out = Tensor._made(pick(x._array).copy(), \"split\", (x,))",
    "out = Tensor._alias(pick(x._array), x._storage)",
    "views::test_a_copy_has_a_new_storage",
)  # fmt: skip
mutation(
    "minitensor/engine/core/tensor.py",
    "detach-stays-in-the-group",
    "A detached alias belongs to the group, and writes through it are recorded.",
    "        alias = Tensor._alias(self._array, self._storage)\n        if watch",
    "        alias = self.__copy__()\n        if watch",
    "autograd::test_the_error_of_backward_on_a_tensor_without_history_explains_the_cause",
)  # fmt: skip
mutation(
    "minitensor/engine/sharing/numpy_memory.py",
    "numpy-shares-memory",
    "numpy() returns the memory itself, so the engine misses writes to it.",
    "else x._array.copy()",
    "else x._array",
    "protocols::test_arrays_from_numpy_and_asarray_are_copies_of_the_tensor",
)  # fmt: skip
mutation(
    "minitensor/engine/core/tensor.py",
    "gradient-keeps-its-history",
    "A gradient that is set keeps its history, which may lead back to its leaf in a cycle.",
    "                gradient = gradient.detach()  # its history may refer to this leaf",
    "                pass",
    "memory_returns::test_a_gradient_assigned_to_a_leaf_of_minitensor_torch_keeps_nothing_alive",
)  # fmt: skip
mutation(
    "minitensor/engine/core/tensor.py",
    "retaining-member-not-registered",
    "A view that retains its gradient is not registered with its group.",
    "            self._history.note_retaining(self)",
    "            pass",
    "members",
)  # fmt: skip
mutation(
    "minitensor/engine/core/tensor.py",
    "resumed-leaf-is-a-new-one",
    "A leaf whose stop_gradient was True for a while becomes another leaf.",
    "                self._extras().paused = node, self._history, self._array",
    "                pass",
    "members",
)  # fmt: skip
mutation(
    "minitensor/engine/creation/from_data.py",
    "to-tensor-shares-memory",
    "A tensor created from an array shares its memory.",
    "        array = np.array(data, order=\"C\")",
    "        array = np.asarray(data, order=\"C\")",
    "creation::test_to_tensor_copies_tensors_and_lists_of_tensors_without_their_history",
)  # fmt: skip
