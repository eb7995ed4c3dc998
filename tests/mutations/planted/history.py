"""Faults in storages, groups and modes."""

from functools import partial

from ..mutation import mutation

storage = partial(mutation, "minitensor/engine/core/storage.py")
writing = partial(mutation, "minitensor/engine/saved/writing.py")
history = partial(mutation, "minitensor/engine/core/history.py")

storage(
    "freed-storage-stays-counted",
    "The bytes of a freed storage stay counted.",
    "_meter.allocated -= self.nbytes",
    "_meter.allocated -= 0",
    "memory_returns::test_a_gradient_assigned_to_a_leaf_keeps_nothing_alive",
)  # fmt: skip
storage(
    "storage-counted-twice",
    "The bytes of a new storage count twice.",
    "storage.nbytes = nbytes = buffer.nbytes",
    "storage.nbytes = buffer.nbytes\n    nbytes = 2 * buffer.nbytes",
    "memory::test_a_tensor_holds_its_elements_and_frees_them_at_once",
)  # fmt: skip
writing(
    "setitem-raises-no-version",
    "Writes that are not operations of the table (setitem, copy_, set_value) do not increment the version.",
    "        raise\n    storage.version += 1\n",
    "        raise\n",
    "writes::test_a_write_of_any_kind_raises_the_version_by_1",
)  # fmt: skip
storage(
    "write-of-another-storage-is-blamed",
    "The write log is searched only by version, so a write to another storage is found.",
    "if made == version and written() is storage:",
    "if made == version:",
    "savers",
)  # fmt: skip
history(
    "retained-gradient-not-moved-to-the-new-value",
    "A retained gradient is removed from the old value but not added to the new value.",
    "        if new is not None:\n            new.add_hook(box)",
    "        pass",
    "retained::test_a_retained_gradient_is_the_gradient_of_the_current_value_of_the_tensor",
)  # fmt: skip
history(
    "hooks-move-with-the-retained-gradient",
    "A hook is moved to the next value with the retained gradient.",
    "for box in [hook for hook in old.hooks if type(hook) is GradientBox]:",
    "for box in list(old.hooks):",
    "hooks::test_a_hook_gets_the_gradient_of_the_value_from_before_or_after_an_in_place_write",
)  # fmt: skip
history(
    "overwritten-part-keeps-its-gradient",
    "A write through a view does not reduce the gradient of the old value.",
    "return (rest if node.inputs[0] is not None else None), part",
    "return (g if node.inputs[0] is not None else None), part",
    "part_gradients",
)  # fmt: skip
history(
    "index-of-a-view-is-taken-for-one-of-the-base",
    "A write through a view of a view uses the index that made the last view as an index of the base.",
    "node.inputs[0] is self.node and node.saved:",
    "node.inputs[0] is not None and node.saved:",
    "part_gradients",
)  # fmt: skip
history(
    "stale-view-reads-its-old-value",
    "A view does not follow a write to its group.",
    "    if x._seen == history.version:\n        return old",
    "    if old is not None:\n        return old",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
history(
    "write-does-not-notify-the-group",
    "A write through one member of a group does not notify the other members.",
    "    history.version += 1\n    if x._array is history.base:\n        if x._node is not None:",
    "    if x._array is history.base:\n        if x._node is not None:",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
history(
    "retaining-members-not-notified",
    "A write through a view does not notify other members that retain their gradient.",
    "        if member is not None and member._history is history:\n            current(member)",
    "        pass",
    "retained::test_after_a_write_through_a_view_the_base_retains_the_gradient_of_the_new_value_of_the_base",
)  # fmt: skip
history(
    "view-of-a-leaf-not-protected",
    "Only the leaf itself is protected, not its views.",
    "        node = node.inputs[0]\n    return type(node) is Leaf",
    "        node = node.inputs[0]\n    return False",
    "leaves::test_a_write_through_a_view_of_a_leaf_is_refused",
)  # fmt: skip
history(
    "leaf-reshaped-loses-its-gradient-shape",
    "The gradient of a leaf that gets another shape under no_grad keeps the old shape.",
    "back(gradient._array).copy()",
    "gradient._array.copy()",
    "leaves::test_under_no_grad_a_leaf_may_change_its_shape_and_stays_a_leaf",
)  # fmt: skip
history(
    "gradient-for-a-reshaped-leaf-in-the-old-order",
    "A result computed before its leaf was reshaped sends the leaf a gradient in the old order of the elements.",
    "    (back,) = node.saved\n    return (back(g),)",
    "    (back,) = node.saved\n    return (g.reshape(node.inputs[0].shape),)",
    "leaves::test_under_no_grad_a_leaf_may_change_its_shape_and_stays_a_leaf",
)  # fmt: skip
history(
    "base-becomes-leaf-alone",
    "A tensor that becomes a leaf leaves its group, so its views are not views of the leaf.",
    "    if same_layout(x._array, history.base):\n        history.node = leaf",
    "    if same_layout(x._array, history.base):\n        x._history = None",
    "leaves::test_a_write_through_a_view_is_refused_if_the_base_became_a_leaf_after_the_view_was_made",
)  # fmt: skip
history(
    "part-becomes-leaf-with-its-group",
    "If a view of a part of the memory becomes a leaf, the leaf becomes the value of the whole group.",
    "    if not covers(x._array, history.base):\n        x._history = None\n        return",
    "    if False:\n        return",
    "leaves::test_a_part_of_a_constant_may_become_a_separate_leaf",
)  # fmt: skip
history(
    "second-order-written-part-gets-everything",
    "Second order: the derivative of a write with respect to the old value is not 0 at the overwritten cells.",
    "        return region.split(u)[1]\n",
    "        return u\n",
    "backward_keeps_to_itself",
)  # fmt: skip

modes = partial(mutation, "minitensor/engine/modes.py")
modes(
    "no-grad-does-not-nest",
    "Leaving no_grad always turns recording on.",
    "modes.grad, self._before = self._before",
    "modes.grad, self._before = True, self._before[1]",
    "modes::test_enable_grad_works_inside_no_grad",
)  # fmt: skip
modes(
    "modes-of-all-threads",
    "All threads of the process share one grad mode and one policy.",
    "class Modes(threading.local):",
    "class Modes:",
    "own_to_a_thread",
)  # fmt: skip
modes(
    "pause-not-counted",
    "Operations do not notice that a thread records nothing.",
    "        counter.threads += 1\n",
    "        pass\n",
    "modes",
)  # fmt: skip
modes(
    "policy-not-restored",
    "The policy is not restored at the end of its with-block.",
    "        modes.policy = self._before",
    "        pass",
    "modes::test_set_inplace_policy_works_as_a_function_and_as_a_context_manager",
)  # fmt: skip
storage(
    "other-tensors-do-not-raise-the-peak",
    "Tensors from other sources than operations of the table do not raise the peak.",
    "    if now > cpu_meter.peak:\n        cpu_meter.peak = now\n    return storage",
    "    return storage",
    "memory",
)  # fmt: skip
