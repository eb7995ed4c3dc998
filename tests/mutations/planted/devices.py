"""Faults in devices: the simulated GPU, places, moves, and code of the engine for GPUs only."""

from functools import partial

from ..mutation import mutation

simulated = partial(mutation, "minitensor/engine/device/simulated.py")
places = partial(mutation, "minitensor/engine/device/places.py")
moving = partial(mutation, "minitensor/engine/creation/moving.py")
storage = partial(mutation, "minitensor/engine/core/storage.py")

simulated(
    "freed-device-array-keeps-its-block",
    "A freed array of the simulated GPU does not return its block.",
    "            self.gpu.free(self._block)",
    "            pass",
    "devices::test_deleted_tensors_free_their_memory_on_the_gpu",
)  # fmt: skip
simulated(
    "view-has-the-address-of-its-owner",
    "A view on the simulated GPU has the address of the array that owns its memory, even if the view begins later.",
    "return owner._block.address + _host_address(self.host) - _host_address(owner.host)",
    "return owner._block.address",
    "tests/minitensor/engine/device/test_cupy_device.py::test_memory_is_compared_by_address_on_a_device",
)  # fmt: skip
simulated(
    "array-of-another-simulated-gpu-is-accepted",
    "An array of one simulated GPU is accepted on another.",
    "            if type(each) is DeviceArray and each.gpu is gpu:",
    "            if type(each) is DeviceArray:",
    "devices::test_tensors_of_an_earlier_simulated_gpu_stay_there_and_cannot_be_mixed_with_new_ones",
)  # fmt: skip
simulated(
    "copy-of-an-overlapping-operand-not-counted",
    "If an operand overlaps the output, the copy of the operand that a device makes is not counted.",
    "        return None\n    return DeviceArray(given.gpu, given.host.copy()) if np.may_share_memory",
    "        return None\n    return None if np.may_share_memory",
    "tests/minitensor/engine/device/test_transfers.py::test_the_copy_of_an_operand_that_overlaps_the_output_counts_as_device_memory",
)  # fmt: skip
simulated(
    "mask-assigned-without-a-wait",
    "An assignment by a mask is not counted as waiting for the device.",
    "        self.gpu.transfers.waits += masks_in(at)\n        if type(value)",
    "        if type(value)",
    "tests/minitensor/engine/device/test_transfers.py::test_transfers_are_counted",
)  # fmt: skip
simulated(
    "overlapping-assignment-not-refused",
    "A part of an array is assigned to an overlapping part, which has an undefined result on a device.",
    "            refuse_overlap(self.host[at], numbers)\n",
    "            pass\n",
    "tests/minitensor/engine/device/test_cupy_functions.py::test_the_simulated_gpu_refuses_the_calls_that_cupy_leaves_undefined",
)  # fmt: skip
places(
    "device-of-the-operand-stays-current",
    "After an operation on a tensor and a list, new tensors are created on the device of that tensor.",
    "    finally:\n        current.gpu = before",
    "    finally:\n        pass",
    "devices::test_numbers_arrays_and_lists_move_to_the_device_of_the_tensor",
)  # fmt: skip
places(
    "places-are-equal-by-name",
    "The places of two simulated GPUs with the same name are equal.",
    "            return self.gpu is other.gpu",
    "            return str(self) == str(other)",
    "devices::test_tensors_of_an_earlier_simulated_gpu_stay_there_and_cannot_be_mixed_with_new_ones",
)  # fmt: skip
places(
    "kibibyte-of-1000",
    "A capacity in KiB is read as one in KB.",
    '"KIB": 1 << 10',
    '"KIB": 10**3',
    "devices::test_a_capacity_is_a_number_of_bytes_or_a_text_with_any_unit",
)  # fmt: skip
places(
    "place-of-an-old-gpu-is-the-new-one",
    "A place given as a device is looked up by its name, so the place of a replaced simulated GPU means the new GPU.",
    "        return device.gpu  # works even for a simulated GPU that was replaced",
    "        device = str(device)",
    "devices::test_tensors_of_an_earlier_simulated_gpu_stay_there_and_cannot_be_mixed_with_new_ones",
)  # fmt: skip
moving(
    "gradient-of-a-move-stays-on-the-target",
    "The gradient of a move stays on the target device.",
    "    return (placed_on(source, g),)",
    "    return (g,)",
    "devices::test_a_move_to_another_device_is_a_copy_through_which_the_gradient_flows",
)  # fmt: skip
moving(
    "second-order-moved-the-wrong-way",
    "Second order: the gradient of a moved gradient is moved to the wrong device.",
    "placed_on(node.saved[1], u)",
    "placed_on(node.saved[0], u)",
    "devices::test_a_move_has_gradients_of_any_order",
)  # fmt: skip
moving(
    "moved-tensor-shares-the-hosts-memory",
    "A moved tensor on the simulated GPU shares the memory of the host's tensor.",
    "    host = host.copy() if host is array else host\n",
    "",
    "devices::test_a_move_to_another_device_is_a_copy_through_which_the_gradient_flows",
)  # fmt: skip
moving(
    "move-recorded-under-no-grad",
    "A move under no_grad is recorded.",
    "    if modes.grad and node is not None:",
    "    if node is not None:",
    "devices::test_a_move_under_no_grad_is_not_recorded",
)  # fmt: skip
storage(
    "device-storage-counted-on-the-host",
    "A storage on a GPU is counted on the host, too.",
    "    if type(result) is ndarray:\n        return result, _host_storage(result)\n",
    "    if type(result) is ndarray:\n        return result, _host_storage(result)\n    _host_storage(result)\n",
    "devices::test_tensors_on_a_gpu_are_not_counted_on_the_host",
)  # fmt: skip
storage(
    "device-storage-freed-on-the-host",
    "A freed storage of a GPU is subtracted from the bytes of the host.",
    "    def __del__(self, _watch: Watch = watch) -> None:  # type: ignore[override]",
    "    def __del__(self, _watch: Watch = watch, _meter: Meter = cpu_meter) -> None:\n"
    "        _meter.allocated -= self.nbytes",
    "devices::test_tensors_on_a_gpu_are_not_counted_on_the_host",
)  # fmt: skip
mutation(
    "minitensor/engine/autograd/backward_pass.py",
    "intermediate-device-gradient-counted-on-the-host",
    "An intermediate gradient on a GPU is counted on the host, too.",
    "size = 0 if gpu_of(array) is not None else getattr(",
    "size = getattr(",
    "devices::test_tensors_on_a_gpu_are_not_counted_on_the_host",
)  # fmt: skip
mutation(
    "minitensor/engine/operations/operands.py",
    "overlapping-device-target-is-written",
    "On a GPU, where arrays have no read-only flag, an operation writes a tensor whose elements share memory.",
    "    if not writeable(x._array):",
    "    if False:",
    "all_or_nothing::test_a_tensor_whose_elements_share_memory_is_not_written",
)  # fmt: skip
mutation(
    "minitensor/engine/core/regions.py",
    "lent-device-memory-may-be-written",
    "Memory of a GPU that is lent read-only may be written.",
    " and not (_lent and id(owner_of(array)) in _lent)",
    "",
    "py_layer::test_a_write_of_backward_into_a_saved_tensor_is_refused",
)  # fmt: skip
mutation(
    "minitensor/engine/core/regions.py",
    "memory-lent-twice-is-writable-after-one-return",
    "Memory of a GPU that is lent twice may be written after the first borrower returns it.",
    "    _lent[key] -= 1\n    if _lent[key] == 0:\n        del _lent[key]",
    "    _lent.pop(key, None)",
    "py_layer::test_a_saved_tensor_stays_protected_after_a_layer_inside_backward_used_it",
)  # fmt: skip
mutation(
    "minitensor/engine/saved/patches.py",
    "preserved-cells-picked-by-a-host-mask",
    "Preserved cells of a GPU's array are restored with a mask of the host.",
    "        array[like(hit, array)] = self.values",
    "        array[hit] = self.values",
    "copy_on_write::test_a_write_to_the_whole_tensor_preserves_only_the_cells_of_a_saved_view",
)  # fmt: skip
mutation(
    "minitensor/engine/saved/cells.py",
    "cells-copied-from-the-start-of-their-stretch",
    "Scattered cells of a GPU's storage are preserved from the wrong places.",
    "else stretch[like(self.numbers() - self.begin, stretch)]",
    "else stretch[like(np.arange(self.count), stretch)]",
    "copy_on_write_random",
)  # fmt: skip
mutation(
    "minitensor/device/cuda.py",
    "reserved-peak-reset-to-the-allocated-bytes",
    "The peak of a GPU's reserved bytes is reset to its allocated bytes.",
    "    counters.max_reserved = counters.reserved",
    "    counters.max_reserved = counters.allocated",
    "devices::test_the_peaks_of_allocated_and_reserved_bytes_are_reset_separately",
)  # fmt: skip
mutation(
    "minitensor/engine/kernels/indexed.py",
    "device-assigns-repeated-positions-in-no-order",
    "Of two values that are assigned to one position, a GPU keeps an arbitrary one.",
    "        values = np.broadcast_to(values, stays.shape).reshape(-1)[stays]\n",
    "        pass\n",
    "tests/minitensor/engine/device/test_cupy_functions.py::test_the_simulated_gpu_keeps_the_last_of_several_values_written_to_one_position",
)  # fmt: skip
simulated(
    "listed-positions-assigned-from-overlapping-memory",
    "An assignment to listed positions may read memory that it overwrites, which has an undefined result on a device.",
    "            if lists_positions(at) or masks_in(at):\n                refuse_overlap(self.host, numbers)\n",
    "",
    "tests/minitensor/engine/device/test_cupy_functions.py::test_the_simulated_gpu_refuses_the_calls_that_cupy_leaves_undefined",
)  # fmt: skip
simulated(
    "scattered-values-may-overlap",
    "Values may be added to the memory that contains them, which has an undefined result on a device.",
    "    refuse_overlap(array.host, np.asarray(numbers))\n",
    "",
    "tests/minitensor/engine/device/test_cupy_functions.py::test_the_simulated_gpu_refuses_the_calls_that_cupy_leaves_undefined",
)  # fmt: skip
mutation(
    "minitensor/engine/device/allocator.py",
    "large-request-shares-a-segment",
    "A request of the smallest size that has to get a separate segment shares a segment.",
    "rules.segment if size < rules.own_from",
    "rules.segment if size <= rules.own_from",
    "tests/minitensor/engine/device/test_allocator.py",
)  # fmt: skip
mutation(
    "minitensor/engine/device/snapshot.py",
    "events-lack-the-release-of-a-segment",
    "A snapshot accepts events that do not contain the release of a segment.",
    "    wrong |= reserved - {segment.address for segment in segments}\n",
    "",
    "tests/minitensor/engine/device/test_snapshot.py::test_events_without_the_release_of_a_segment_are_refused",
)  # fmt: skip
