"""Errors of tests that need features that a page lacks, and tests that are not run, each with a reason."""

from __future__ import annotations

#: Parts of error messages, each with a reason. A test that fails with such a message needs something that a page does
#: not have, so it counts as left out.
ABSENT = {
    "emscripten does not support processes": "starts a process",
    "can't start new thread": "starts a thread",
    "No module named 'scipy'": "needs SciPy",
    " needs scipy, ": "needs SciPy",
    "No module named 'IPython'": "needs IPython",
    "No module named 'jsonschema'": "needs jsonschema, a part of which is compiled",
    "No module named 'PIL'": "needs Pillow",
    "need the package mini-racer": "draws, which the page does itself",
    "the digits come with scikit-learn": "needs scikit-learn's digits",
}

INT32 = "numpy itself converts Python's integers to int32 in a page"
PYTHON_313 = "fails under Python 3.13, even outside of a browser"
THREADS = "needs threads"
ADDRESSES = "numpy has no such shape with addresses of 32 bits"
SMALL_STACK = "Python's compiler overflows a page's small stack, which ends Python; the page reports this"

#: Tests that are not run in a page, because they fail there or end Python: the file, the beginning of the test's id
#: after the file, and the reason.
NOT_THERE = {
    "tests/book_kit/test_in_page.py": {
        "test_every_request_is_answered_with_a_recording[too many ": SMALL_STACK,
        "test_a_text_with_a_syntax_error_is_not_explained_and_the_answer_has_the_line[too many ": SMALL_STACK,
    },
    "tests/memory_stage/recorder/test_record.py": {
        "test_endless_recursion_is_reported_as_an_error_at_the_line_of_the_program": (
            "pytest uses too much of a page's small stack; tests/site has this test"
        )
    },
    "tests/memory_stage/sentences/test_sentences_all.py": {
        "test_each_text_occurs_for_the_first": PYTHON_313,
        "test_the_sentences_on_the_programs_of_all_pairs_are_true": PYTHON_313,
        "test_most_of_the_texts_would_be_false": PYTHON_313,
    },
    "tests/memory_stage/sentences/test_sentences_hold.py": {
        "test_a_sentence_appears_if_it_is_true_and_not_for_a_similar_program[another thread": THREADS
    },
    "tests/minitensor/engine/test_hostile_data.py": {"test_a_view_larger_than_any_memory_allocates_nothing": ADDRESSES},
    "tests/minitensor/engine/test_printing.py": {"test_arrays_of_many_dimensions_print[0, then 14 sevens": ADDRESSES},
    "tests/minitensor/engine/test_sharing.py": {
        "test_memory_of_files_and_buffers_can_be_shared_through_arrays": "a mapped file is only written by a flush"
    },
    "tests/minitensor/vocabulary/test_docstrings.py": {"test_cannot_is_one_word": "reads files of the checkout"},
    "tests/minitensor/vocabulary/test_learners.py": {
        "test_questions_are_answered_as_in_the_framework[torch: missing names]": "the number of a system error differs",
        "test_intended_differences_still_differ[torch: calls: F.cross_entropy": "WebAssembly reports no 0 / 0",
    },
    "tests/minitensor/vocabulary/test_learners_programs.py": {
        "test_a_program_behaves_as_in_the_framework[torch-clipping_in_a_loop]": (
            "an OrderedDict prints differently from Python 3.12 on"
        ),
        "test_a_program_behaves_as_in_the_framework[torch-beginner_1_tensors]": INT32,
    },
    "tests/minitensor/vocabulary/test_recorded_layers.py": {
        "test_a_layer_agrees_with_the_record_of_pytorch[nll]": INT32,
        "test_a_layer_agrees_with_the_record_of_pytorch[cross entropy]": INT32,
    },
    "tests/minitensor/vocabulary/test_saving_and_loading.py": {
        "test_the_error_about_an_unsupported_value_names_its_position": "CPython cannot free this list on a small stack"
    },
    "tests/minitensor/vocabulary/test_torch_record.py": {
        "test_a_program_prints_the_same_as_in_pytorch[each: values and errors]": INT32
    },
}


def reason_against(test: str) -> str | None:
    """Return the reason why a test, given by its id, is not run in a page; None if it is run."""
    file, _, name = test.partition("::")
    return next((reason for begin, reason in NOT_THERE.get(file, {}).items() if name.startswith(begin)), None)
