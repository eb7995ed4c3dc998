"""Faults in operations written by users, and in operations that rebind a tensor."""

from functools import partial

from ..mutation import mutation

context = partial(mutation, "minitensor/engine/autograd/context.py")
layer = partial(mutation, "minitensor/engine/autograd/py_layer.py")
replacing = partial(mutation, "minitensor/engine/views/set_resize_cast.py")

context(
    "layer-writes-a-leaf",
    "A layer may write a leaf that requires a gradient.",
    "            check_target(x, self.name)",
    "            pass",
    "py_layer::test_random_programs_have_the_same_gradients_with_operations_and_with_layers",
)  # fmt: skip
context(
    "layer-saves-what-it-overwrites",
    "A tensor that a layer saves and then overwrites is not copied.",
    "            entries[i] = own_input(self.name, x)",
    "            pass",
    "py_layer::test_first_and_second_derivatives_of_in_place_layers_agree_with_finite_differences",
)  # fmt: skip
context(
    "saved-tensor-may-be-written",
    "A layer's backward may write a saved tensor.",
    "        x._array.flags.writeable = False",
    "        pass",
    "py_layer::test_a_write_of_backward_into_a_saved_tensor_is_refused",
)  # fmt: skip
context(
    "layer-saves-without-registering",
    "A layer saves tensors without registering with their storages.",
    "                remember(x._storage, self.node)",
    "                pass",
    "py_layer::test_first_and_second_derivatives_of_in_place_layers_agree_with_finite_differences",
)  # fmt: skip
context(
    "unannounced-write-goes-unnoticed",
    "A layer may write an input without mark_dirty.",
    "(self.is_dirty(x) or self._shares_with_announced(x)) and self.was_written(k):",
    "(self.is_dirty(x) or self._shares_with_announced(x)) and False:",
    "py_layer::test_the_error_about_an_input_written_without_mark_dirty_names_the_write",
)  # fmt: skip
mutation(
    "minitensor/engine/autograd/outputs.py",
    "outputs-not-counted",
    "If a layer has several outputs, their gradients count as missing.",
    "    whole[part.count] = 1\n",
    "    whole[part.count] = 0\n",
    "py_layer::test_first_and_second_derivatives_agree_with_finite_differences",
)  # fmt: skip
layer(
    "layer-runs-recorded",
    "Operations in a layer's forward are recorded.",
    "            with no_grad():\n                result",
    "            if True:\n                result",
    "py_layer::test_forward_and_backward_of_a_layer_run_with_grad_mode_off",
)  # fmt: skip
layer(
    "layer-output-shares-memory",
    "If a layer returns one tensor twice, both results share one storage.",
    "        return Tensor._made(x._array.copy())\n",
    "        return Tensor._alias(x._array, x._storage)\n",
    "py_layer::test_an_input_that_forward_returns_is_copied",
)  # fmt: skip
layer(
    "layer-freed-not-checked",
    "A second backward through a layer does not report that the first backward freed the saved values.",
    "    if node.saved is FREED:\n        raise freed(node)\n    found: PyLayerContext = node.saved[-1]",
    "    found: PyLayerContext = node.saved[-1]",
    "py_layer::test_backward_runs_twice_if_the_graph_is_retained_or_nothing_was_saved",
)  # fmt: skip
replacing(
    "cast-begins-at-version-0",
    "cast_ gives a tensor a storage whose version begins at 0.",
    "    storage.version = x._storage.version\n",
    "",
    "replacing::test_cast_and_resize_raise_the_version_of_the_tensor_by_1",
)  # fmt: skip
replacing(
    "cast-stays-in-the-group",
    "A tensor that cast_ has moved to another storage still belongs to the old group.",
    "_move_to(x, x._array.astype(new.numpy, order=\"C\"), \"cast_\")\n    x._history = None\n",
    "_move_to(x, x._array.astype(new.numpy, order=\"C\"), \"cast_\")\n",
    "replacing::test_a_write_to_a_cast_view_does_not_change_the_base_and_both_get_gradients",
)  # fmt: skip
mutation(
    "minitensor/engine/autograd/gradients.py",
    "one-root-counts-once",
    "If backward() gets a tensor twice, it counts the tensor only once.",
    "_array(roots[node] + g)",
    "_array(g)",
    "py_layer::test_backward_doubles_the_gradient_of_a_tensor_given_twice_and_names_wrong_arguments",
)  # fmt: skip
