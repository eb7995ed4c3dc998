"""What Python in a page does not have, by what it says when it is asked for."""

from __future__ import annotations

#: A test that ends with this error asked for what no page has. It is counted as left out, with the reason.
ABSENT = {
    "emscripten does not support processes": "starts a process",
    "can't start new thread": "starts a thread",
    "No module named 'scipy'": "needs SciPy",
    " needs scipy, ": "needs SciPy",
    "No module named 'IPython'": "needs IPython",
    "No module named 'lzma'": "needs lzma",
}

#: Tests that cannot hold there, by name, and why.
NOT_THERE = {
    "test_files_and_other_memory_are_shared_through_their_arrays": "a mapped file is written only when it is flushed",
}
