"""Faults in shared memory, and in counters and records of memory."""

from functools import partial

from ..mutation import mutation

sharing = partial(mutation, "minitensor/engine/sharing/numpy_memory.py")
foreign_writes = partial(mutation, "minitensor/engine/sharing/foreign_writes.py")
dlpack = partial(mutation, "minitensor/engine/sharing/dlpack.py")
changes = partial(mutation, "minitensor/memory/changes.py")
recording = partial(mutation, "minitensor/memory/recording.py")

sharing(
    "adjacent-memory-behind-counts-as-shared",
    "Memory that begins at the end of shared memory counts as a part of it.",
    "    if first and _by_address[first - 1].end > begin:",
    "    if first and _by_address[first - 1].end >= begin:",
    "sharing::test_sharing_that_would_split_a_memory_into_two_storages_is_refused",
)  # fmt: skip
sharing(
    "adjacent-memory-in-front-counts-as-shared",
    "Memory that ends at the beginning of shared memory counts as a part of it.",
    "bisect_left(_by_address, end, key=_begin)]",
    "bisect_right(_by_address, end, key=_begin)]",
    "sharing::test_sharing_that_would_split_a_memory_into_two_storages_is_refused",
)  # fmt: skip
sharing(
    "freed-memory-stays-in-the-list",
    "A freed storage stays in the table of shared memory.",
    "    if shared.begin < shared.end:\n        del _by_address",
    "    if False:\n        del _by_address",
    "shared_stress::test_every_shared_byte_has_the_value_of_its_shadow",
)  # fmt: skip
sharing(
    "borrowed-overlapping-array-may-be-written",
    "A borrowed array whose elements share memory becomes a writable tensor.",
    "writeable = array.flags.writeable and not overlaps_itself(array)",
    "writeable = array.flags.writeable",
    "sharing::test_a_borrowed_array_whose_elements_share_memory_is_read_only",
)  # fmt: skip
sharing(
    "read-only-tensor-is-lent-writeable",
    "A read-only tensor is lent as a writable array.",
    "window = Window.on(x._array, x._array.flags.writeable, storage)",
    "window = Window.on(x._array, True, storage)",
    "dlpack::test_imports_and_exports_keep_the_read_only_flag",
)  # fmt: skip
sharing(
    "lent-memory-is-not-known-as-shared",
    "Lent memory does not count as shared, so it may be reused.",
    "entry_of(storage).windows.add(window)",
    "entry_of(storage)",
    "sharing::test_memory_of_a_tensor_is_counted_and_kept_as_long_as_an_array_uses_it",
)  # fmt: skip
foreign_writes(
    "first-copy-serves-all",
    "For an operation after a foreign write, the check expects the values from before that write.",
    "        if copy is None or copy.changed(array).any():",
    "        if copy is None:",
    "foreign_writes::test_each_of_two_operations_is_checked_against_the_values_it_read",
)  # fmt: skip
foreign_writes(
    "savers-forgotten-with-the-check",
    "The end of the check drops the registered savers.",
    "storage.savers = list(storage.savers) or None",
    "storage.savers = None",
    "foreign_writes::test_turning_the_check_on_or_off_keeps_the_list_of_savers_for_copy_on_write",
)  # fmt: skip
foreign_writes(
    "savers-forgotten-as-the-check-begins",
    "The start of the check drops the earlier savers.",
    "super().__init__(storage.savers or ())",
    "super().__init__(())",
    "foreign_writes::test_turning_the_check_on_or_off_keeps_the_list_of_savers_for_copy_on_write",
)  # fmt: skip
foreign_writes(
    "changed-bytes-counted-from-the-tensor",
    "The positions of changed bytes are counted from the beginning of the tensor, not of its storage.",
    "byte = at - byte_bounds(storage.buffer)[0]",
    "byte = at - address_of(array)",
    "foreign_writes::test_the_error_counts_the_bytes_of_a_view_from_the_beginning_of_its_storage",
)  # fmt: skip
dlpack(
    "copy-false-makes-a-copy",
    "A consumer that refuses copies gets a copy.",
    "array = x._array.copy() if copy else lend_memory(x)",
    "array = x._array.copy() if copy is not None else lend_memory(x)",
    "dlpack::test_an_export_with_copy_false_shares_memory",
)  # fmt: skip
dlpack(
    "read-only-memory-in-an-old-capsule",
    "Read-only memory is exported in a capsule that cannot mark it as read-only.",
    "    if not is_versioned and not array.flags.writeable:",
    "    if False:",
    "dlpack::test_imports_and_exports_keep_the_read_only_flag",
)  # fmt: skip
changes(
    "write-through-a-view-counts-everything",
    "A write through a view counts as a write to its whole storage.",
    "        return x._array.nbytes",
    "        return x._storage.nbytes",
    "memory_events::test_the_bytes_of_a_write_event_are_those_of_the_written_elements",
)  # fmt: skip
changes(
    "saved-numbers-are-tensors",
    "A saved number is reported as a tensor.",
    " and saved[1] is not CONSTANT",
    "",
    "memory_events::test_the_events_of_a_few_lines_equal_an_expected_list",
)  # fmt: skip
changes(
    "intermediate-gradient-is-an-allocation",
    "An intermediate gradient counts as an allocation, although it has no storage.",
    'return MemoryChange("cpu", nbytes, False)',
    'return MemoryChange("cpu", nbytes, True)',
    "memory_measure::test_intermediate_gradients_raise_the_peak_and_are_not_counted_as_allocations",
)  # fmt: skip
mutation(
    "minitensor/memory/profiling.py",
    "saved-twice-counted-twice",
    "A tensor that an operation saves as both operands counts twice.",
    "sum({id(array): array.nbytes for array in here}.values())",
    "sum(array.nbytes for array in here)",
    "memory_profile::test_the_bytes_of_every_line_equal_those_counted_by_hand",
)  # fmt: skip
mutation(
    "minitensor/memory/profiling.py",
    "line-that-frees-has-the-peak-after",
    "The peak of a line that frees memory is counted after the free instead of before it.",
    "            row.reach(table.total.allocated)\n            table.total.add(change)\n",
    "            table.total.add(change)\n",
    "memory_profile::test_the_bytes_of_every_line_equal_those_counted_by_hand",
)  # fmt: skip
recording(
    "intermediate-gradients-have-one-address",
    "Two intermediate gradients have the same address.",
    "            self._in_flight += nbytes\n",
    "",
    "memory_snapshot::test_the_viewer_can_open_a_training_step_with_the_names_of_its_tensors",
)  # fmt: skip
recording(
    "freed-block-stays-known",
    "A freed block of a GPU is reported as allocated.",
    "known: TrackedMemory | None = self._blocks.pop(key, None)",
    "known: TrackedMemory | None = self._blocks.get(key)",
    "memory_events::test_freed_storages_are_not_reported_as_living",
)  # fmt: skip
recording(
    "change-of-shape-reported-as-a-version",
    "An operation that changes only the shape is reported as a new version.",
    "        if memory.version != x._storage.version:\n",
    "        if True:\n",
    "memory_events::test_a_mere_change_of_shape_is_not_a_write",
)  # fmt: skip
mutation(
    "minitensor/memory/snapshots.py",
    "constants-are-no-leaves",
    "A snapshot does not report a tensor that requires no gradient as a leaf.",
    '"is_leaf": node is None or (',
    '"is_leaf": (',
    "memory_snapshot::test_storages_are_named_after_gradients_attributes_list_items_and_given_names",
)  # fmt: skip
mutation(
    "minitensor/engine/device/counters.py",
    "later-peak-replaces-a-higher-one",
    "Resetting one peak of the host lowers the other peak.",
    "        self.reserved = max(self.reserved, peak + self.cached)",
    "        self.reserved = peak + self.cached",
    "memory_measure::test_the_peaks_of_allocated_and_reserved_bytes_of_the_host_are_reset_separately",
)  # fmt: skip
mutation(
    "minitensor/device/cpu.py",
    "both-peaks-reset-with-one",
    "Resetting the peak of allocated bytes also resets the peak of reserved bytes.",
    "    cpu_peaks.settle()\n    cpu_peaks.allocated = 0\n",
    "    cpu_peaks.settle()\n    cpu_peaks.allocated = cpu_peaks.reserved = 0\n",
    "memory_measure::test_the_peaks_of_allocated_and_reserved_bytes_of_the_host_are_reset_separately",
)  # fmt: skip
mutation(
    "minitensor/memory/snapshots.py",
    "replaced-gpu-not-reported",
    "A snapshot leaves out a replaced simulated GPU that still has tensors.",
    "for gpu in (current.gpu, current.simulated, *used) if",
    "for gpu in (current.gpu, current.simulated) if",
    "memory_snapshot::test_a_snapshot_after_the_gpu_was_replaced_has_both_gpus",
)  # fmt: skip
mutation(
    "minitensor/memory/profiling.py",
    "bytes-of-every-device-in-one-table",
    "A profile of one device counts the bytes of the others.",
    "        if change is not None and change.device == table.device:",
    "        if change is not None:",
    "memory_profile::test_a_table_counts_only_the_bytes_of_its_device",
)  # fmt: skip
mutation(
    "minitensor/memory/profiling.py",
    "writes-on-every-device-in-one-table",
    "A profile of one device counts writes on the others.",
    "if isinstance(event, TensorWritten) and device_of(event.tensor._storage) == table.device:",
    "if isinstance(event, TensorWritten):",
    "memory_profile::test_a_table_counts_only_the_bytes_of_its_device",
)  # fmt: skip
mutation(
    "minitensor/memory/profiling.py",
    "saved-on-every-device-in-one-table",
    "A profile of one device counts saved bytes on the others.",
    " if device_of(saved.storage) == self.table.device]",
    "]",
    "memory_profile::test_a_table_counts_only_the_bytes_of_its_device",
)  # fmt: skip
