"""List the files of tests that run in Python in the browser, and the reasons why some files do not run there."""

from __future__ import annotations

from tools.build import ROOT

FOLDERS = (
    *("tests/minitensor/engine", "tests/minitensor/conformance", "tests/minitensor/vocabulary"),
    *("tests/memory_stage/api", "tests/memory_stage/explanation", "tests/memory_stage/figures"),
    *("tests/memory_stage/recorder", "tests/memory_stage/sentences", "tests/book_kit"),
)

PROCESSES = "runs programs in other processes"
SHELL = "about notebooks: IPython, its magics and widgets"
CHECKOUT = "about files of the checkout, the book or the benchmarks"
LEFT_OUT = {
    "tests/minitensor/conformance/test_an_operation_is_a_row.py": PROCESSES,
    "tests/minitensor/conformance/test_mutations.py": PROCESSES,
    "tests/minitensor/conformance/test_programs.py": "random programs, which the option --programs runs and counts",
    "tests/minitensor/engine/device/test_command_line_viewer.py": PROCESSES,
    "tests/minitensor/engine/device/test_cupy_device.py": "about CuPy",
    "tests/minitensor/engine/device/test_cupy_functions.py": "about CuPy",
    "tests/minitensor/engine/test_benchmarks.py": CHECKOUT,
    "tests/minitensor/engine/test_host_memory.py": PROCESSES,
    "tests/minitensor/engine/test_interrupts.py": "interrupts by signals, which a browser does not send",
    "tests/minitensor/engine/test_memory_costs.py": CHECKOUT,
    "tests/minitensor/engine/test_own_to_a_thread.py": "about threads",
    "tests/minitensor/engine/test_threads_shared_out.py": "about threads",
    "tests/memory_stage/recorder/test_awaiting.py": "about a notebook's loops; test_fresh.py tests those of a page",
    "tests/book_kit/test_claim_tables.py": CHECKOUT,
    "tests/book_kit/test_controls.py": SHELL,
    "tests/book_kit/test_digits.py": SHELL,
    "tests/book_kit/test_error_tables.py": CHECKOUT,
    "tests/book_kit/test_expect.py": SHELL,
    "tests/book_kit/test_explain.py": SHELL,
    "tests/book_kit/test_quiz.py": SHELL,
    "tests/book_kit/test_ranks.py": "about several processes",
    "tests/book_kit/test_ranks_figure.py": "about several processes",
    "tests/book_kit/test_reference_tables.py": CHECKOUT,
    "tests/book_kit/test_table_words.py": CHECKOUT,
    "tests/memory_stage/api/test_stage.py": SHELL,
    "tests/memory_stage/api/test_stage_command.py": PROCESSES,
    "tests/memory_stage/web/test_stage_elsewhere.py": PROCESSES,
    "tests/memory_stage/web/test_stage_still.py": "draws, which the page does itself",
    "tests/minitensor/vocabulary/test_names_tables.py": CHECKOUT,
    "tests/minitensor/vocabulary/test_refusals_table.py": CHECKOUT,
}


def runs() -> list[str]:
    """Return the files of tests that run in the browser."""
    found = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")]
    return sorted(set(found) - set(LEFT_OUT))
