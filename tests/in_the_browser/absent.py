"""What Python in a page does not have, by what it says when it is asked for."""

from __future__ import annotations

#: A test that ends with this error asked for what no page has. It is counted as left out, with the reason.
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

INT32 = "what numpy makes of Python's integers is int32, also for a program that calls numpy itself"
PYTHON_313 = "does not hold under Python 3.13 outside of a browser, either"

#: Tests that cannot hold there, by a part of their id, and why. They are not run: one of them would end Python.
NOT_THERE = {
    "test_files_and_other_memory_are_shared_through_their_arrays": "a mapped file is written only when it is flushed",
    "test_what_has_no_plain_form_is_named_with_its_place": "CPython cannot free 100,000 nested lists on that stack",
    "test_sentences_all.py::test_every_text_has_a_program": PYTHON_313,
    "test_sentences_all.py::test_the_sentences_on_these_programs_are_true": PYTHON_313,
    "test_sentences_all.py::test_most_of_the_sentences_would_be_false": PYTHON_313,
    "test_arrays_of_many_dimensions_print[0 and 7s": "numpy has no such shape with addresses of 32 bits",
    "test_a_view_larger_than_any_memory_takes_none": "numpy has no such shape with addresses of 32 bits",
    "[torch: missing names]": "the system's number of an error differs",
    "still_differs[torch: calls: F.cross_entropy": "WebAssembly tells numpy of no 0 / 0",
    "[torch-clipping_in_a_loop]": "an OrderedDict prints otherwise from Python 3.12 on",
    "[torch-beginner_1_tensors]": INT32,
    "test_a_program_prints_what_pytorch_prints[each: values and errors]": INT32,
    "test_a_layer_computes_what_pytorch_recorded[nll]": INT32,
    "test_a_layer_computes_what_pytorch_recorded[cross entropy]": INT32,
    "[another thread": "needs threads",
    "test_endless_recursion_is_the_programs_own_error": "pytest leaves too little of that stack; tests/site asks it",
    "[too many ": "Python's compiler runs out of that stack and ends, and the page says so",
    "test_cannot_is_one_word": "about files of the checkout",
}
