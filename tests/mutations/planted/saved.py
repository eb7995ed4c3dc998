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
    "An in-place operation that needs its input keeps the memory that it overwrites.",
    "    kept = a.copy()",
    "    kept = a",
    "in_place::test_the_gradient_is_that_of_central_differences",
)  # fmt: skip
keeping(
    "own-input-not-refused-under-25",
    'Under "2.5" an operation that needs its own input goes on.',
    '    if modes.policy == "2.5":\n        raise needs_own_input(op, x, *wanted)\n    return copy_of(x._array)',
    "    return copy_of(x._array)",
    "in_place::test_policy_2_5_refuses_only_operations_that_need_their_own_input",
)  # fmt: skip
keeping(
    "marks-not-refused-under-25",
    'Under "2.5" an operation that needs marks of its own input goes on.',
    'if x is not None and modes.policy == "2.5":',
    "if False:",
    "in_place::test_policy_2_5_refuses_only_operations_that_need_their_own_input",
)  # fmt: skip
keeping(
    "alias-always-disjoint",
    "An operand on the storage that is written is taken for untouched.",
    "    if not touch(a, b):\n",
    "    if True:\n",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
keeping(
    "alias-version-off-by-one",
    "An operand beside the bytes that are written is saved at the version before the write.",
    "x._storage.version + 1",
    "x._storage.version",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
keeping(
    "same-shape-is-same-operand",
    "An operand on the same storage with the shape of the target is taken for the target.",
    "if same_layout(a, b):",
    "if a.shape == b.shape:",
    "alias_programs::test_the_gradient_is_right",
)  # fmt: skip
keeping(
    "marks-inverted",
    "What was true of an element comes back as false.",
    ".view(np.bool_).reshape(shape)",
    ".view(np.bool_).reshape(shape) == False",
    "in_place::test_the_gradient_is_that_of_central_differences",
)  # fmt: skip
keeping(
    "marks-unpacked-from-the-end",
    "The bits that fill the last byte are taken for the first elements.",
    "bits[: int(np.prod(shape, dtype=np.int64))]",
    "bits[bits.size - int(np.prod(shape, dtype=np.int64)) :]",
    "in_place::test_the_gradient_is_that_of_central_differences",
)  # fmt: skip

writing(
    "partial-overlap-ignored",
    "A write touches only savers of the very same view.",
    "if touch(entry[0], array):",
    "if entry[0].shape == array.shape and touch(entry[0], array):",
    "copy_on_write_policies::test_the_policy_of_the_write_decides_not_that_of_the_save",
)  # fmt: skip
writing(
    "nothing-is-ever-lost",
    "A saver never learns that its bytes were taken.",
    "for node, k in plan.lost:",
    "for node, k in ():",
    "stale::test_the_error_names_both_lines_both_versions_and_two_ways_out",
)  # fmt: skip
writing(
    "harmless-run-begins-one-late",
    "The run of writes that harm nobody is noted from its second version on.",
    "first if last == version - 1 else version - 1",
    "first if last == version - 1 else version",
    "copy_on_write_policies::test_the_policy_of_the_write_decides_not_that_of_the_save",
)  # fmt: skip
saving(
    "harmless-run-never-ends",
    "A write under another policy after one under copy on write counts as harmless, too.",
    "return last == storage.version and first <= version",
    "return first <= version",
    "copy_on_write_policies::test_a_write_beside_saved_cells_moves_only_the_version",
)  # fmt: skip
saving(
    "preserved-bytes-not-put-back",
    "Backward takes what is there now, although what was there is preserved.",
    "        array = restored(array, version.patches)",
    "        pass",
    "copy_on_write::test_a_write_preserves_the_cells_that_it_overwrites",
)  # fmt: skip
saving(
    "savers-forgotten-when-tidied",
    "Every so often the living savers are dropped with the dead.",
    "                savers[:looked_at] = living",
    "                savers[:looked_at] = living[:1]",
    "savers",
)  # fmt: skip
writing(
    "second-saved-tensor-slips-to-the-first",
    "What became of the second saved tensor of a node is written down for its first.",
    "    entries[k] = saved\n",
    "    entries[0] = saved\n",
    "copy_on_write_policies::test_the_policy_of_the_write_decides_not_that_of_the_save",
)  # fmt: skip
writing(
    "half-preserved-counts-as-alike",
    "Savers of the same view are treated alike although different bytes of theirs are preserved.",
    "key = address(array_saved), array_saved.shape, array_saved.strides, id(patches)",
    "key = address(array_saved), array_saved.shape, array_saved.strides",
    "copy_on_write::test_savers_at_different_versions_each_read_their_own_numbers",
)  # fmt: skip
writing(
    "stale-savers-are-preserved-for",
    "Under copy on write bytes are preserved for a saver that is stale already.",
    "        if is_right(saved):\n            array_saved",
    "        if type(saved[2]) is not Lost:\n            array_saved",
    "copy_on_write_policies::test_chains_of_writes_under_changing_policies",
)  # fmt: skip
writing(
    "spoiled-patches-are-held",
    "What is preserved of a saver that has become stale by version is not let go.",
    "    for node, k in plan.spoiled:",
    "    for node, k in ():",
    "savers",
)  # fmt: skip
writing(
    "policy-of-the-save-decides",
    "Bytes are preserved under every policy.",
    'preserves = modes.policy == "copy_on_write"',
    'preserves = modes.policy != "2.5"',
    "stale::test_the_error_names_both_lines_both_versions_and_two_ways_out",
)  # fmt: skip
writing(
    "one-group-is-told-for-all",
    "Of several tensors that saved the same cells only one learns what is preserved.",
    "    for node, k in group.members:\n        array, storage, _ = saved",
    "    for node, k in group.members[:1]:\n        array, storage, _ = saved",
    "copy_on_write::test_a_write_preserves_the_cells_that_it_overwrites",
)  # fmt: skip

patches(
    "patches-restored-in-the-wrong-order",
    "The oldest of several patches is put back first, and newer ones over it.",
    "        for patch in reversed(patches):\n            patch.put(memory, cells.begin)",
    "        for patch in patches:\n            patch.put(memory, cells.begin)",
    "copy_on_write::test_two_savers_of_the_same_cells_share_one_copy",
)  # fmt: skip
patches(
    "scattered-patches-restored-in-the-wrong-order",
    "The same, where the saved cells lie far apart.",
    "    for patch in reversed(patches):\n        patch.scatter_into(shown, numbers)",
    "    for patch in patches:\n        patch.scatter_into(shown, numbers)",
    "copy_on_write_random::test_under_copy_on_write_every_saved_value_is_unchanged",
)  # fmt: skip
patches(
    "patch-put-back-shifted",
    "A patch that begins before the saved tensor is put back from its own beginning.",
    "memory[first:last] = self.values.reshape(-1)[first - shift : last - shift]",
    "memory[first:last] = self.values.reshape(-1)[: last - first]",
    "savers",
)  # fmt: skip
patches(
    "preserved-again",
    "Bytes that are preserved already are preserved again, as they are by then.",
    "            patch.cells.mark(marks, begin, False)",
    "            pass",
    "copy_on_write::test_a_second_write_to_the_same_cells_preserves_nothing",
)  # fmt: skip
patches(
    "part-of-a-view-taken-for-all",
    "A patch is taken for the whole saved tensor although it ends before it.",
    "or wanted.begin < self.cells.begin or wanted.end > self.cells.end:",
    "or wanted.begin < self.cells.begin:",
    "savers",
)  # fmt: skip
patches(
    "more-preserved-than-written",
    "All cells of the stretch of a write are preserved, also those between.",
    "    if not written.is_stretch:\n            marks &=",
    "    if False:\n            marks &=",
    "copy_on_write::test_a_second_write_to_the_same_cells_preserves_nothing",
)  # fmt: skip
cells(
    "cells-marked-too-far",
    "A stretch that begins before the marks ends too late in them.",
    "marks[max(shift, 0) : shift + self.extent] = value",
    "marks[max(shift, 0) : max(shift, 0) + self.extent] = value",
    "copy_on_write_random::test_under_copy_on_write_every_saved_value_is_unchanged",
)  # fmt: skip
cells(
    "what-lies-between-meets",
    "Cells count as meeting when their stretches do, although none is in both.",
    "return bool((self.marked(begin, end) & other.marked(begin, end)).any())",
    "return True",
    "savers",
)  # fmt: skip
cells(
    "columns-copied-in-the-wrong-place",
    "What is preserved is read from the beginning of the buffer.",
    "stretch = memory_of(buffer)[begin : begin + self.extent]",
    "stretch = memory_of(buffer)[: self.extent]",
    "copy_on_write::test_a_write_preserves_the_cells_that_it_overwrites",
)  # fmt: skip
