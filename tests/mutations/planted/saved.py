"""Faults in saving for backward, copy on write, and the cells of memory."""

from functools import partial

from ..mutation import mutation

saving = partial(mutation, "minitensor/engine/saved/saved.py")
writing = partial(mutation, "minitensor/engine/saved/writing.py")
keeping = partial(mutation, "minitensor/engine/saved/in_place_inputs.py")
patches = partial(mutation, "minitensor/engine/saved/patches.py")
cells = partial(mutation, "minitensor/engine/saved/cells.py")

keeping(
    "own-input-not-copied",
    "An in-place operation that needs its input saves the memory that it overwrites.",
    "    copy = a.copy()",
    "    copy = a",
    "in_place::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
keeping(
    "own-input-not-refused-under-25",
    'Under "2.5" an operation that needs its own input is not refused.',
    '    if modes.policy == "2.5":\n        raise needs_own_input(op, x, *nodes)\n    return copy_of(x._array)',
    "    return copy_of(x._array)",
    "in_place::test_policy_2_5_refuses_only_operations_that_need_their_own_input",
)  # fmt: skip
keeping(
    "marks-not-refused-under-25",
    'Under "2.5" an operation that needs bits of its own input is not refused.',
    'if x is not None and modes.policy == "2.5":',
    "if False:",
    "in_place::test_policy_2_5_refuses_only_operations_that_need_their_own_input",
)  # fmt: skip
keeping(
    "alias-always-disjoint",
    "An operand on the written storage counts as untouched, even if the write overlaps it.",
    "    if not touch(a, b):\n",
    "    if True:\n",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
keeping(
    "alias-version-off-by-one",
    "An operand beside the written cells of the same storage is saved at the version before the write.",
    "x._storage.version + 1",
    "x._storage.version",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
keeping(
    "same-shape-is-same-operand",
    "An operand on the same storage with the target's shape counts as the target.",
    "if same_layout(a, b):",
    "if a.shape == b.shape:",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
keeping(
    "marks-inverted",
    "The saved bit of an element is inverted.",
    ".view(np.bool_).reshape(shape)",
    ".view(np.bool_).reshape(shape) == False",
    "in_place::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip
keeping(
    "marks-unpacked-from-the-end",
    "The padding bits of the last byte are used for the first elements.",
    "bits[: int(np.prod(shape, dtype=np.int64))]",
    "bits[bits.size - int(np.prod(shape, dtype=np.int64)) :]",
    "in_place::test_the_gradient_agrees_with_central_differences",
)  # fmt: skip

writing(
    "partial-overlap-ignored",
    "A write affects only savers of exactly the same view.",
    "if touch(entry[0], array):",
    "if entry[0].shape == array.shape and touch(entry[0], array):",
    "copy_on_write_policies::test_the_policy_of_the_write_and_not_of_the_save_decides_if_values_are_preserved",
)  # fmt: skip
writing(
    "savers-not-notified-of-overwritten-bytes",
    "A saver is never notified that its bytes were overwritten.",
    "for node, k in plan.lost:",
    "for node, k in ():",
    "stale::test_the_error_names_both_lines_and_both_versions_and_suggests_two_remedies",
)  # fmt: skip
writing(
    "harmless-run-begins-one-late",
    "A run of harmless writes is recorded from its second version on.",
    "first if last == version - 1 else version - 1",
    "first if last == version - 1 else version",
    "copy_on_write_policies::test_the_policy_of_the_write_and_not_of_the_save_decides_if_values_are_preserved",
)  # fmt: skip
saving(
    "harmless-run-never-ends",
    "After a write under copy on write, a write under another policy also counts as harmless.",
    "return last == storage.version and first <= version",
    "return first <= version",
    "copy_on_write_policies::test_the_error_after_a_write_beside_saved_cells_says_that_no_saved_bytes_were_overwritten",
)  # fmt: skip
saving(
    "preserved-bytes-not-restored",
    "Backward reads the current values although the old ones were preserved.",
    "        array = restored(array, version.patches)",
    "        pass",
    "copy_on_write::test_a_write_preserves_the_cells_that_it_overwrites",
)  # fmt: skip
saving(
    "savers-forgotten-when-tidied",
    "Tidying drops the living savers with the dead ones.",
    "                savers[:scanned] = living",
    "                savers[:scanned] = living[:1]",
    "savers",
)  # fmt: skip
writing(
    "second-saved-state-stored-for-the-first",
    "The state of a node's second saved tensor is stored for its first.",
    "    entries[k] = saved\n",
    "    entries[0] = saved\n",
    "copy_on_write_policies::test_the_policy_of_the_write_and_not_of_the_save_decides_if_values_are_preserved",
)  # fmt: skip
writing(
    "savers-with-different-patches-treated-alike",
    "Savers of the same view are treated alike although different bytes were preserved for them.",
    "key = address_of(array_saved), array_saved.shape, array_saved.strides, array_saved.dtype, id(patches)",
    "key = address_of(array_saved), array_saved.shape, array_saved.strides, array_saved.dtype",
    "copy_on_write::test_operations_that_saved_different_versions_each_read_their_own_numbers",
)  # fmt: skip
writing(
    "bytes-preserved-for-a-stale-saver",
    "Under copy on write, bytes are preserved for a saver that is already stale.",
    "        if is_intact(saved):\n            array_saved",
    "        if type(saved[2]) is not Lost:\n            array_saved",
    "copy_on_write_policies::test_after_three_writes_under_any_policies_backward_is_right_or_reports_the_first_loss",
)  # fmt: skip
writing(
    "patches-of-a-stale-saver-not-freed",
    "Bytes preserved for a saver that became stale are not freed.",
    "    for node, k in plan.spoiled:",
    "    for node, k in ():",
    "savers",
)  # fmt: skip
writing(
    "bytes-preserved-without-copy-on-write",
    'Bytes are preserved under the policy "2.6", as under copy on write.',
    'preserves = modes.policy == "copy_on_write"',
    'preserves = modes.policy != "2.5"',
    "stale::test_the_error_names_both_lines_and_both_versions_and_suggests_two_remedies",
)  # fmt: skip
writing(
    "only-one-saver-gets-the-preserved-values",
    "Only one of several tensors that saved the same cells gets the preserved values.",
    "    for node, k in group.members:\n        array, storage, _ = saved",
    "    for node, k in group.members[:1]:\n        array, storage, _ = saved",
    "copy_on_write::test_a_write_preserves_the_cells_that_it_overwrites",
)  # fmt: skip

patches(
    "patches-restored-in-the-wrong-order",
    "The oldest of several patches is restored first, and newer ones overwrite it.",
    "        for patch in reversed(patches):\n            patch.put(memory, cells.begin)",
    "        for patch in patches:\n            patch.put(memory, cells.begin)",
    "copy_on_write::test_several_operations_that_saved_the_same_cells_share_one_copy",
)  # fmt: skip
patches(
    "scattered-patches-restored-in-the-wrong-order",
    "Patches of scattered cells are restored in the wrong order.",
    "    for patch in reversed(patches):\n        patch.scatter_into(result, numbers)",
    "    for patch in patches:\n        patch.scatter_into(result, numbers)",
    "copy_on_write_random::test_under_copy_on_write_every_saved_value_is_unchanged",
)  # fmt: skip
patches(
    "patch-restored-from-its-own-beginning",
    "If a patch begins before the saved tensor, the tensor is restored from the beginning of the patch.",
    "memory[first:last] = self.values.reshape(-1)[first - shift : last - shift]",
    "memory[first:last] = self.values.reshape(-1)[: last - first]",
    "savers",
)  # fmt: skip
patches(
    "preserved-again",
    "Bytes that are already preserved are preserved again with their current values.",
    "            patch.cells.mark(marks, begin, False)",
    "            pass",
    "copy_on_write::test_a_second_write_to_the_same_cells_preserves_nothing",
)  # fmt: skip
patches(
    "partial-patch-counts-as-complete",
    "A patch counts as the whole saved tensor although it ends before the tensor ends.",
    "or cells.begin < self.cells.begin or cells.end > self.cells.end:",
    "or cells.begin < self.cells.begin:",
    "savers",
)  # fmt: skip
patches(
    "more-preserved-than-written",
    "All cells between the first and the last written cell are preserved.",
    "    if not written.is_stretch:\n            marks &=",
    "    if False:\n            marks &=",
    "copy_on_write::test_a_second_write_to_the_same_cells_preserves_nothing",
)  # fmt: skip
cells(
    "cells-marked-too-far",
    "If a range begins before the marked cells, it ends too late.",
    "marks[max(shift, 0) : shift + self.extent] = value",
    "marks[max(shift, 0) : max(shift, 0) + self.extent] = value",
    "copy_on_write_random::test_under_copy_on_write_every_saved_value_is_unchanged",
)  # fmt: skip
cells(
    "overlapping-ranges-count-as-shared-cells",
    "Two sets of cells count as overlapping if their ranges overlap, although they share no cell.",
    "return bool((self.marked(begin, end) & other.marked(begin, end)).any())",
    "return True",
    "savers",
)  # fmt: skip
cells(
    "columns-copied-in-the-wrong-place",
    "Preserved columns are read from the beginning of the buffer.",
    "stretch = memory_of(buffer)[begin : begin + self.extent]",
    "stretch = memory_of(buffer)[: self.extent]",
    "copy_on_write::test_a_write_preserves_the_cells_that_it_overwrites",
)  # fmt: skip
