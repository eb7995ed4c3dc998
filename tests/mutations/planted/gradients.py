"""Faults in backward, of the first and the second order."""

from functools import partial

from ..mutation import mutation

backward = partial(mutation, "minitensor/engine/autograd/gradients.py")
walk = partial(mutation, "minitensor/engine/autograd/backward_pass.py")
second = partial(mutation, "minitensor/engine/autograd/higher_order.py")

walk(
    "gradients-accumulated-in-shared-memory",
    "A gradient is accumulated in place although another tensor shares its memory.",
    "if key in self._more or key not in self._sizes:",
    "if key not in self._sizes:",
    "autograd::test_gradients_share_no_memory_with_one_another_or_with_the_initial_gradient",
)  # fmt: skip
walk(
    "second-gradient-replaces-the-first",
    "If a sum of two gradients needs new memory, it contains only the later gradient.",
    "total: np.ndarray = as_array(so_far + more)",
    "total: np.ndarray = as_array(more)",
    "autograd::test_gradients_add_up_over_calls_and_over_paths",
)  # fmt: skip
walk(
    "intermediate-gradient-does-not-raise-the-peak",
    "The first gradient that arrives at a node is counted but does not raise the peak.",
    "                if now > cpu_meter.peak:\n                    cpu_meter.peak = now\n            return more",
    "            return more",
    "memory::test_the_peak_of_backward_includes_a_gradient_and_the_incoming_gradient",
)  # fmt: skip
walk(
    "broadcast-not-summed",
    "The gradient of a broadcast operand has the shape of the result.",
    "= summed_to(g.whole() if type(g) is PartGradient else as_array(g), parent.shape)",
    "= g.whole() if type(g) is PartGradient else as_array(g)",
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
walk(
    "hook-run-twice",
    "A hook is called twice for one gradient.",
    "            answer = call_hook(hook, copy_to_tensor(g))",
    "            call_hook(hook, copy_to_tensor(g))\n            answer = call_hook(hook, copy_to_tensor(g))",
    "hooks::test_a_hook_is_called_once_with_the_sum_of_the_gradients",
)  # fmt: skip
walk(
    "hook-receives-the-gradient-itself",
    "A hook receives the gradient itself, so writing into it changes later gradients.",
    "            answer = call_hook(hook, copy_to_tensor(g))",
    "            answer = call_hook(hook, Tensor._alias(g, Tensor._made(g)._storage))",
    "hooks::test_a_hook_that_writes_into_its_argument_changes_no_gradient",
)  # fmt: skip
walk(
    "hook-may-change-the-shape",
    "A hook may return a gradient of another shape.",
    "(not isinstance(answer, Tensor) or answer._array.shape != g._array.shape)",
    "not isinstance(answer, Tensor)",
    "hooks::test_a_hook_with_a_wrong_result_raises_an_error",
)  # fmt: skip
walk(
    "failed-backward-sets-a-gradient",
    "A leaf gets a gradient before backward is complete.",
    "        if type(node) is Leaf:\n            arrived[node] = g\n",
    "        if type(node) is Leaf:\n            arrived[node] = g\n"
    "            if node.saved is None and not wanted:\n"
    "                node.saved = copy_to_tensor(g * 0)\n",
    "backward_keeps_to_itself",
)  # fmt: skip
backward(
    "two-leaves-share-a-gradient",
    "A gradient that arrives at two leaves is stored as one array.",
    "if propagation.is_exclusive(g) and outward.flags.c_contiguous:",
    "if outward.flags.c_contiguous and g.base is None:",
    "autograd::test_gradients_share_no_memory_with_one_another_or_with_the_initial_gradient",
)  # fmt: skip
backward(
    "given-gradient-is-written",
    "Gradients are accumulated into the initial gradient in place.",
    "return node, given._array.astype(x._array.dtype)",
    "return node, given._array.astype(x._array.dtype, copy=False)",
    "backward_keeps_to_itself",
)  # fmt: skip
walk(
    "saved-tensors-not-freed",
    "Backward does not free the saved tensors.",
    "                    saved, node.saved = None, FREED  # `saved` must not keep a tensor alive\n",
    "                    pass\n",
    "grad::test_grad_frees_saved_values_unless_retain_graph_is_true",
)  # fmt: skip
walk(
    "retained-graph-freed",
    "retain_graph=True frees the graph, and retain_graph=False keeps it.",
    "if not retain_graph and node.op.saved_names:",
    "if retain_graph and node.op.saved_names:",
    "grad",
)  # fmt: skip
walk(
    "gradients-in-flight-stay-counted",
    "An intermediate gradient stays counted after backward has used it.",
    "        if not kept:\n            release(g)\n",
    "",
    "backward_keeps_to_itself",
)  # fmt: skip
backward(
    "second-backward-replaces-the-gradients-tensor",
    "A second backward stores the sum in another tensor instead of the existing gradient.",
    "            if node.saved is None or _is_cleared(node.saved):\n"
    "                new_gradients.append((node, _to_tensor(g, propagation, node)))",
    "            if True:\n                total = _to_tensor(g, propagation) if node.saved is None else "
    "_sum(node.saved, g, propagation)\n                new_gradients.append((node, total))",
    "autograd::test_the_next_backward_adds_in_place_to_the_existing_gradient",
)  # fmt: skip
backward(
    "gradient-added-in-place-replaces-the-old-one",
    "A gradient that is added in place replaces the old one.",
    "    np.add(array, g, out=array)\n",
    "    np.copyto(array, g)\n",
    "memory::test_a_second_gradient_is_added_in_place_even_if_the_program_holds_the_first",
)  # fmt: skip
backward(
    "backward-adds-to-a-cleared-gradient",
    "After clear_gradient the next backward adds to the cleared tensor.",
    "if node.saved is None or _is_cleared(node.saved):",
    "if node.saved is None:",
    "autograd::test_clear_grad_zeroes_the_gradient_and_the_next_backward_makes_a_new_tensor",
)  # fmt: skip
backward(
    "write-into-a-cleared-gradient-is-lost",
    "A write into a cleared gradient is lost.",
    "return extra is not None and extra.emptied == gradient._storage.version",
    "return extra is not None and extra.emptied is not None",
    "autograd::test_backward_adds_to_values_written_into_a_cleared_gradient",
)  # fmt: skip
backward(
    "savers-of-a-gradient-not-notified",
    "Backward adds to a saved gradient without notifying its savers.",
    "        plans[storage] = None if storage.savers is None else before_write(storage, array)",
    "        plans[storage] = None",
    "autograd::test_a_saved_gradient_is_stale_after_the_next_backward_except_under_copy_on_write",
)  # fmt: skip
backward(
    "gradients-added-in-place-too-early",
    "Gradients are added in place before the gradients that need new memory have been allocated.",
    "            additions.append((node, g))\n",
    "            additions.append((node, g * 0))\n            node.saved._array[...] += g\n",
    "devices::test_a_backward_that_runs_out_of_memory_changes_no_existing_gradient",
)  # fmt: skip
backward(
    "gradients-of-two-threads-lost",
    "Two threads read a gradient at once, and each stores its own sum.",
    "_committing = RLock()",
    "_committing = __import__(\"contextlib\").nullcontext()",
    "own_to_a_thread",
)  # fmt: skip
backward(
    "grad-returns-the-buffer",
    "grad returns one array for an input that is given twice.",
    "return [copy_to_tensor(arrived[node]) if node in reached else None for node in wanted]",
    "return [Tensor._made(arrived[node]) if node in reached else None for node in wanted]",
    "grad::test_grad_results_share_no_memory",
)  # fmt: skip
backward(
    "unreached-input-found-too-late",
    "grad detects an unreachable input only after freeing the graph.",
    "        if (node not in pending or node in without) and not allow_unused:\n            raise",
    "        if (node not in pending or node in without) and not allow_unused:\n"
    "            propagate(sum_by_node(starts), pending, False, OnArrays())\n            raise",
    "grad::test_grad_refuses_an_input_that_was_overwritten_after_its_use",
)  # fmt: skip
backward(
    "grad-retains-no-gradient",
    "grad leaves the gradients of tensors with retain_grads() as they were.",
    '        commit({}, propagation, "grad")  # stores only the retained gradients\n',
    "",
    "retained::test_grad_fills_retained_gradients_in_both_vocabularies_as_the_frameworks_do",
)  # fmt: skip

second(
    "second-order-saved-operand-is-a-constant",
    "Second order: a saved operand has no history.",
    "    tensor._node = source\n",
    "    tensor._node = None\n",
    "gradcheck::test_gradcheck_accepts_right_gradients",
)  # fmt: skip
second(
    "second-order-broadcast-not-summed",
    "Second order: the gradient of a broadcast operand has the shape of the result.",
    "more = summed_to(as_engine_tensor(more), parent.shape)",
    "more = as_engine_tensor(more)",
    "gradcheck::test_gradcheck_accepts_right_gradients",
)  # fmt: skip
second(
    "second-order-gradients-do-not-add-up",
    "Second order: of several gradients that arrive at a node, only the last counts.",
    "more if so_far is None else FUNCTIONS[\"add\"](so_far, more)",
    "more",
    "gradcheck::test_gradcheck_accepts_right_gradients",
)  # fmt: skip
second(
    "map-and-its-transpose-mixed-up",
    "Third order: the gradient of a transposed linear map applies the transposed map instead of the map.",
    "return [linear(op.name, g, transposed, function)]",
    "return [linear(op.name, g, transposed, transposed)]",
    "backward_keeps_to_itself",
)  # fmt: skip
second(
    "second-order-stale-not-checked",
    "Second order: saved tensors are read without checking their versions.",
    "    if storage.version != version:\n        array = recovered",
    "    if False:\n        array = recovered",
    "copy_on_write_writers::test_second_derivatives_computed_from_preserved_bytes_are_right",
)  # fmt: skip
backward(
    "create-graph-does-not-record",
    "grad(create_graph=True) under no_grad records nothing.",
    "    with enable_grad():\n",
    "    if True:\n",
    "backward_keeps_to_itself",
)  # fmt: skip
second(
    "second-order-hook-results-ignored",
    "Under create_graph the gradients that hooks return are ignored.",
    "            g = as_engine_tensor(g if answer is None else answer)",
    "            g = as_engine_tensor(g)",
    "backward_keeps_to_itself",
)  # fmt: skip
second(
    "linear-map-not-recorded",
    "Second order: the gradient of a view or a join has no history.",
    "    if modes.grad and node is not None:\n        out._node",
    "    if False:\n        out._node",
    "gradcheck::test_gradcheck_accepts_right_gradients",
)  # fmt: skip
