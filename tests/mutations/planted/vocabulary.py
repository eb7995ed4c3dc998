"""Faults in PyTorch's and Paddle's vocabularies, and in reports on programs that use them."""

from functools import partial

from ..mutation import mutation

convolution = partial(mutation, "minitensor/engine/layers/convolution.py")
losses = partial(mutation, "minitensor/engine/layers/losses.py")
torch = "minitensor/torch/"
vocabulary = "tests/minitensor/vocabulary/"

convolution(
    "blocks-of-images-add-up",
    "The gradient of a block of images contains that of the block before it.",
    '            padded = np.empty_like(g, order="C", shape=shape)\n        padded.fill(0)\n',
    '            padded = np.zeros_like(g, order="C", shape=shape)\n',
    f"{vocabulary}test_paddle_functions.py::test_conv2d_computed_in_blocks_equals_conv2d_of_the_whole_batch",
)  # fmt: skip
losses(
    "recorded-gradient-of-a-certain-prediction",
    "Second order: the gradient of the binary cross entropy divides by 0 if a prediction is 0 or 1.",
    "    spread = bounded(x * (1.0 - x), 1e-12)",
    "    spread = x * (1.0 - x)",
    f"{vocabulary}test_torch_gradients.py",
)  # fmt: skip
mutation(
    f"{torch}tensor.py",
    "deleted-gradient-is-retained-no-more",
    "A result whose gradient is set to None retains no further gradient.",
    "                extra.box.gradient = None",
    "                extra.box = None",
    f"{vocabulary}test_torch_gradients.py",
)  # fmt: skip
mutation(
    f"{torch}views.py",
    "copying-reshape-of-a-thread-loses-its-history",
    "A reshape that copies is not recorded while another thread records nothing.",
    "    if node is not None and (not paused.threads or modes.grad):\n        out._node",
    "    if node is not None and not paused.threads:\n        out._node",
    "own_to_a_thread::test_a_reshape_that_copies_is_recorded_while_another_thread_records_nothing",
)  # fmt: skip
mutation(
    f"{torch}errors.py",
    "three-shapes-forget-a-length-of-0",
    "The error about three shapes replaces a length of 0 by 1.",
    "max(m, n) if 0 not in (m, n) else 0 for",
    "max(m, n) for",
    f"{vocabulary}test_torch_errors.py::test_the_error_about_a_third_operand_names_the_length_0_of_the_first_two",
)  # fmt: skip
mutation(
    f"{torch}nn/hooks.py",
    "failed-hook-is-called-again",
    "A forward hook that raises is called a second time.",
    "if hook.always and number not in called:",
    "if hook.always:",
    f"{vocabulary}test_torch_older_names.py",
)  # fmt: skip
mutation(
    f"{torch}nn/layer_functions.py",
    "patches-of-one-image-exchange-settings",
    "The patches of a single image are read with padding and dilation exchanged.",
    "return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride)",
    "return unfold(input.unsqueeze(0), kernel_size, padding, dilation, stride)",
    f"{vocabulary}test_contractions.py::test_the_patches_of_a_single_image_are_those_of_a_batch_of_one_image",
)  # fmt: skip
mutation(
    f"{torch}nn/lists_and_dicts.py",
    "ordered-dict-of-parameters-is-sorted",
    "The parameters of an OrderedDict are registered in the order of their names.",
    "if type(entries) is dict and self._sorts",
    "if isinstance(entries, dict) and self._sorts",
    f"{vocabulary}test_torch_older_names.py",
)  # fmt: skip
mutation(
    f"{torch}optim/optimizer.py",
    "loaded-step-in-16-bits",
    "The number of steps in a loaded state has the dtype of the parameter.",
    "return value.to(x) if isinstance(value, BaseTensor) and value.ndim else value",
    "return value.to(x) if isinstance(value, BaseTensor) else value",
    f"{vocabulary}test_torch_older_names.py::test_the_step_of_a_loaded_state_keeps_its_dtype",
)  # fmt: skip
mutation(
    "minitensor/optimizer/lr.py",
    "warm-up-of-one-step-more",
    "The first step after a warm-up has the last rate of the warm-up.",
    "if self.last_epoch < self.warmup_steps:",
    "if self.last_epoch <= self.warmup_steps:",
    f"{vocabulary}test_paddle_optimizers.py",
)  # fmt: skip
mutation(
    "minitensor/memory/source_lines.py",
    "scaler-hides-the-optimizer",
    "A report does not say that an optimizer wrote a parameter if a gradient scaler called the optimizer.",
    "if module.startswith(prefix)), found)",
    'if module.startswith(prefix)), "")',
    "tests/memory_stage/explanation/test_explain.py"
    "::test_a_step_that_a_gradient_scaler_runs_is_reported_as_that_of_an_optimizer",
)  # fmt: skip
mutation(
    "memory_stage/explanation/minitensor/pytorch_refusals.py",
    "neighbours-overlap",
    "A report says that PyTorch refuses a write that reads the elements directly before the written ones.",
    "self.begin < other.end and other.begin",
    "self.begin <= other.end and other.begin",
    "tests/memory_stage/explanation/test_explain_first.py"
    "::test_parts_of_one_tensor_that_only_touch_do_not_overlap_for_pytorch",
)  # fmt: skip
