"""Faults in the templates from which the operations are generated; each affects many operations."""

from functools import partial

from ..mutation import mutation

templates = partial(mutation, "minitensor/engine/operations/templates.py")
writing = partial(mutation, "minitensor/engine/saved/writing.py")
history = partial(mutation, "minitensor/engine/core/history.py")

templates(
    "in-place-op-raises-no-version",
    "An in-place operation writes without incrementing the version.",
    "    storage.version {version}\n",
    "    version = storage.version\n",
    "in_place::test_each_operation_raises_the_version_by_1_also_under_no_grad_and_through_a_view",
)  # fmt: skip
templates(
    "in-place-op-does-not-look-for-savers",
    "An in-place operation does not look for savers of the values that it overwrites.",
    "plan = None if storage.savers is None else {before}",
    "plan = None",
    "copy_on_write_policies::test_a_tensor_whose_bytes_are_all_preserved_stays_valid_after_any_later_write",
)  # fmt: skip
templates(
    "in-place-op-does-not-notify-savers",
    "An in-place operation finds the savers and does not notify them.",
    "after_write(plan, storage, {name!r}, getframe(1))",
    "pass",
    "copy_on_write_policies::test_a_tensor_whose_bytes_are_all_preserved_stays_valid_after_any_later_write",
)  # fmt: skip
templates(
    "leaf-not-protected-from-ops",
    "An in-place operation of the table writes a leaf that requires a gradient.",
    "check_target({x}, {name!r})",
    "pass",
    "leaves::test_the_error_quotes_paddles_message_names_the_leaf_and_suggests_remedies",
)  # fmt: skip
templates(
    "leaf-checked-after-the-write",
    "An in-place operation refuses a leaf only after writing it.",
    "                check_target({x}, {name!r})\n",
    """                try:
                    check_target({x}, {name!r})
                except Exception:
                    forward({call}, out={a})
                    raise
""",
    "leaves::test_a_write_through_a_view_of_a_leaf_is_refused",
)  # fmt: skip
writing(
    "numpy-error-after-the-write-is-raised",
    "An error of numpy after a write leaves the numbers changed and the version unchanged.",
    "    if isinstance(error, (FloatingPointError, RuntimeWarning)):\n        return\n",
    "    if isinstance(error, (FloatingPointError, RuntimeWarning)):\n        raise error\n",
    "all_or_nothing_values::test_a_write_is_complete_or_does_not_happen_if_numpy_raises",
)  # fmt: skip
templates(
    "only-the-first-operand-is-registered",
    "A normal operation registers only with the storage of its first operand.",
    'REMEMBER.format(storage=f"{x}._storage")',
    'REMEMBER.format(storage=f"{text.x}._storage")',
    "copy_on_write_writers::test_second_derivatives_computed_from_preserved_bytes_are_right",
)  # fmt: skip
templates(
    "other-operand-not-registered-in-place",
    "An in-place operation saves its other operand without registering with its storage.",
    r":\n    remember({y}._storage, node)",
    r":\n    pass",
    "savers",
)  # fmt: skip
templates(
    "output-not-registered",
    "A normal operation saves its output without registering with its storage.",
    '"storage.savers = [link]" if x == "out"',
    '"pass" if x == "out"',
    "savers",
)  # fmt: skip
templates(
    "output-not-registered-in-place",
    "An in-place operation saves its output without registering with its storage.",
    'text.if_needed("out", "remember(storage, node)")',
    'text.if_needed("out", "pass")',
    "savers",
)  # fmt: skip
templates(
    "operand-saved-for-an-unwanted-gradient",
    "An operand is saved although the gradients that need it are not wanted.",
    'return f"{entry} if {condition} else None" if condition else entry',
    "return entry",
    "memory::test_an_in_place_operation_holds_the_expected_copies_for_backward",
)  # fmt: skip
templates(
    "view-written-without-its-group",
    "A write through a view gives only the view a new value. The rest of the group keeps the old value.",
    "        if {x}._history is None and (before is None or before.hooks is None):",
    "        if before is None or before.hooks is None:",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
templates(
    "retained-gradient-stays-with-the-old-value",
    "After a write, the retained gradient stays with the old value.",
    "        if {x}._history is None and (before is None or before.hooks is None):",
    "        if {x}._history is None:",
    "retained::test_a_retained_gradient_is_the_gradient_of_the_current_value_of_the_tensor",
)  # fmt: skip
templates(
    "stale-not-checked",
    "Backward reads saved tensors without checking their versions.",
    '"    if storage.version != version:",',
    '"    if False:",',
    "stale::test_the_error_names_both_lines_and_both_versions_and_suggests_two_remedies",
)  # fmt: skip
templates(
    "freed-not-checked",
    "A second backward does not report that the first backward freed the saved values.",
    """unpack += ["if node.saved is FREED:", "    raise freed(node)"]""",
    """unpack += ["if node.saved is FREED:", "    return (None,) * len(node.inputs)"]""",
    "grad::test_grad_frees_saved_values_unless_retain_graph_is_true",
)  # fmt: skip
templates(
    "shape-of-the-input-mistaken",
    "A rule that uses the shape of its input receives the shape of the result.",
    'f"{text.node(x)}.shape", text.rules[x]',
    '"node.shape", text.rules[x]',
    "operations::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
templates(
    "saved-output-has-no-history",
    "Under create_graph the saved output counts as a constant.",
    'of = "node" if name == "out"',
    'of = "None" if name == "out"',
    "gradcheck::test_gradcheck_accepts_right_gradients",
)  # fmt: skip
templates(
    "results-do-not-raise-the-peak",
    "Results of normal operations do not raise the peak.",
    "        if now > meter.peak:\n            meter.peak = now\n",
    "",
    "memory::test_the_peak_is_reset_to_the_allocated_bytes",
)  # fmt: skip
templates(
    "result-is-counted-one-element-too-large",
    "A result is counted with more bytes than it has.",
    "storage.nbytes = nbytes = r.nbytes",
    "storage.nbytes = nbytes = r.nbytes + r.itemsize",
    "memory::test_an_operation_allocates_its_result_but_views_and_writes_allocate_nothing",
)  # fmt: skip
templates(
    "other-dtype-not-converted-to-that-of-the-target",
    "The other operand of an in-place operation is not converted to the target's dtype.",
    "if {text.array[y]}.dtype is not {a}.dtype:",
    "if False:",
    "backward_keeps_to_itself",
)  # fmt: skip
templates(
    "nothing-is-recorded-for-the-second-operand",
    "An operation is not recorded when only an operand after the first requires a gradient.",
    """"any_node": " or ".join(f"{self.node(x)} is not None" for x in self.differentiable),""",
    """"any_node": f"{self.node(self.differentiable[0])} is not None" if self.differentiable else "",""",
    "operations::test_the_gradient_is_right_if_only_one_operand_requires_one",
)  # fmt: skip
mutation(
    "minitensor/engine/operations/compiling.py",
    "in-place-backward-is-that-of-the-normal-op",
    "An in-place operation that saves bits gets the backward of the normal operation, which unpacks operands.",
    "row, differs = form.row, form.in_place and form.row.in_place_differs",
    "row, differs = form.row, False",
    "in_place::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
