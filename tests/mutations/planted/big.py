"""Faults in the computation of big tensors in chunks, and in the reuse of buffers."""

from functools import partial

from ..mutation import mutation

chunks = partial(mutation, "minitensor/engine/kernels/chunks.py")
reuse = partial(mutation, "minitensor/engine/device/host_buffer_cache.py")
threads = partial(mutation, "minitensor/engine/device/threads.py")

reuse(
    "buffer-kept-while-it-is-used",
    "A buffer is put into the cache while it is in use.",
    "        memory = np.empty(nbytes, np.uint8)\n",
    "        memory = np.empty(nbytes, np.uint8)\n        buffer_cache.put(memory)\n",
    "buffer_reuse_stress",
)  # fmt: skip
reuse(
    "buffer-kept-when-its-first-array-is-freed",
    "A buffer is put into the cache when the tensor's array is freed, although views of the buffer are alive.",
    "    return np.ndarray(shape, dtype, np.asarray(Loan(memory)))",
    "    import weakref\n    array = np.ndarray(shape, dtype, memory)\n"
    "    weakref.finalize(array, buffer_cache.put, memory)\n    return array",
    "buffer_reuse::test_a_buffer_that_an_object_still_uses_is_not_reused",
    "buffer_reuse_stress",
)  # fmt: skip
reuse(
    "buffer-of-another-size",
    "A request may get a larger buffer.",
    "memory.nbytes == nbytes and self",
    "memory.nbytes >= nbytes and self",
    "buffer_reuse::test_only_a_buffer_of_equal_size_serves_a_request",
)  # fmt: skip
reuse(
    "newest-buffer-is-freed-first",
    "If too many buffers are cached, the newest buffer is freed first.",
    "        for address in list(self._memory):\n",
    "        for address in reversed(list(self._memory)):\n",
    "buffer_reuse::test_no_more_than_the_limit_is_kept_and_the_oldest_buffers_are_freed_first",
)  # fmt: skip
reuse(
    "kept-beyond-the-peak",
    "Cached buffers of other sizes are not freed when a new size is requested.",
    "        buffer_cache.trim(max(cpu_peaks.ever - cpu_meter.allocated - nbytes, 0))\n",
    "",
    "buffer_reuse::test_kept_buffers_are_freed_before_reserved_bytes_exceed_the_peak_of_allocated_bytes",
)  # fmt: skip
reuse(
    "taken-buffer-stays-reserved",
    "A reused buffer still counts as cached.",
    "                self._peaks.add_cached(-nbytes)\n                return memory",
    "                return memory",
    "buffer_reuse::test_a_freed_buffer_is_reused_for_the_next_result_of_the_same_size",
)  # fmt: skip
chunks(
    "first-chunk-is-not-written",
    "The first chunk of a new result is not written.",
    "    np.copyto(parts.at(0)[1], first)\n",
    "",
    "threads::test_the_result_of_every_operation_equals_that_of_one_call_of_numpy_bit_for_bit",
)  # fmt: skip
chunks(
    "last-chunk-left-out",
    "The last chunk is not computed if it is shorter than the others.",
    "range(parts.step, parts.length, parts.step)",
    "range(parts.step, parts.length - parts.length % parts.step, parts.step)",
    "threads::test_results_of_three_dimensions_and_of_long_rows_have_the_same_bits",
    "buffer_reuse_stress",
)  # fmt: skip
chunks(
    "overlapping-operand-in-chunks",
    "An operation whose operand overlaps the written memory is computed in chunks.",
    "        if any(may_share(array, out) and not same_layout(array, out) for array in arrays):\n",
    "        if False:\n",
    "threads::test_an_operand_that_overlaps_the_target_is_read_first",
)  # fmt: skip
chunks(
    "chunks-in-another-layout",
    "Arrays that are not C-contiguous are computed in chunks.",
    "        if array.size > 1 and not array.flags.c_contiguous:\n            return None\n",
    "",
    "threads::test_a_kernel_keeps_the_memory_order_of_its_operands",
)  # fmt: skip
chunks(
    "floating-point-error-ends-the-first-chunk",
    "An in-place operation obeys numpy's settings for inf and nan, and stops after its first chunk.",
    '    with np.errstate(all="ignore"):\n        operands, part = parts.at(0)\n',
    "    if True:\n        operands, part = parts.at(0)\n",
    "threads::test_results_of_inf_and_nan_raise_no_error_under_any_setting_of_numpy",
)  # fmt: skip
threads(
    "floating-point-errors-of-threads",
    "Threads obey numpy's settings for inf and nan.",
    '        with np.errstate(all="ignore"):\n',
    "        if True:\n",
    "threads::test_results_of_inf_and_nan_raise_no_error_under_any_setting_of_numpy",
)  # fmt: skip
threads(
    "failure-in-a-thread-is-lost",
    "An error in another thread is not raised.",
    "        raise failures.pop()",
    "        pass",
    "threads_shared_out",
)  # fmt: skip
threads(
    "interrupted-while-others-work",
    "An interruption is raised while other threads still write.",
    "        _drop(rest)\n        _wait(helpers)\n",
    "        pass\n",
    "threads_shared_out::test_an_interruption_is_raised_after_all_threads_have_finished",
)  # fmt: skip
mutation(
    "minitensor/engine/device/interrupts.py",
    "interrupted-in-the-middle",
    "An interruption is raised immediately, in the middle of a write.",
    "if callable(before):",
    "if False:",
    "interrupts",
)  # fmt: skip
