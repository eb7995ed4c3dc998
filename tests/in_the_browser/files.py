"""Which files of tests run in the browser, and which do not: each of these with its reason."""

from __future__ import annotations

from tools.build import ROOT

FOLDERS = ("tests/engine", "tests/conformance", "tests/vocabulary", "tests/notebook")

PROCESSES = "runs programs in processes of its own"
SHELL = "about notebooks: IPython, its magics and widgets"
CHECKOUT = "about files of the checkout, the book or the benchmarks"
LEFT_OUT = {
    "tests/conformance/test_an_operation_is_a_row.py": PROCESSES,
    "tests/conformance/test_mutations.py": PROCESSES,
    "tests/conformance/test_programs.py": "random programs: run by number instead, so that they are counted",
    "tests/engine/device/test_command_line_viewer.py": PROCESSES,
    "tests/engine/device/test_cupy_device.py": "about CuPy",
    "tests/engine/device/test_cupy_functions.py": "about CuPy",
    "tests/engine/test_benchmarks.py": CHECKOUT,
    "tests/engine/test_host_memory.py": PROCESSES,
    "tests/engine/test_interrupts.py": "interrupts by signals, which a browser does not send",
    "tests/engine/test_memory_costs.py": CHECKOUT,
    "tests/engine/test_own_to_a_thread.py": "about threads",
    "tests/engine/test_threads_shared_out.py": "about threads",
    "tests/notebook/test_awaiting.py": "about the loops of a notebook; those of a page are in test_fresh.py",
    "tests/notebook/test_claim_tables.py": CHECKOUT,
    "tests/notebook/test_controls.py": SHELL,
    "tests/notebook/test_digits.py": SHELL,
    "tests/notebook/test_error_tables.py": CHECKOUT,
    "tests/notebook/test_expect.py": SHELL,
    "tests/notebook/test_explain.py": SHELL,
    "tests/notebook/test_quiz.py": SHELL,
    "tests/notebook/test_ranks.py": "about several processes",
    "tests/notebook/test_ranks_figure.py": "about several processes",
    "tests/notebook/test_reference_tables.py": CHECKOUT,
    "tests/notebook/test_stage.py": SHELL,
    "tests/notebook/test_stage_command.py": PROCESSES,
    "tests/notebook/test_stage_elsewhere.py": PROCESSES,
    "tests/notebook/test_stage_still.py": "draws, which the page does itself",
    "tests/vocabulary/test_names_tables.py": CHECKOUT,
    "tests/vocabulary/test_refusals_table.py": CHECKOUT,
}


def runs() -> list[str]:
    """The files that run there."""
    found = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")]
    return sorted(set(found) - set(LEFT_OUT))
