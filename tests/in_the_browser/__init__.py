"""Run the engine's tests, and random programs against exact derivatives, under Python in a real browser.

    python -m tests.in_the_browser                       all files that `files.py` selects, and 20,000 programs; an hour
    python -m tests.in_the_browser tests/minitensor/engine/test_views.py --programs 500

Python in a page is CPython compiled to WebAssembly: its addresses and numpy's `intp` have 32 bits, and it has no
threads and no processes. Chromium runs the wheels that `tools/live.py` places beside the pages, in a worker. pytest is
copied from this environment.

    files.py     the files of tests that run in the page, and the reason for each that does not
    absent.py    features that a page lacks, and the single tests that need them
    driving.py   packs the files, opens the browser and receives the results
    inside.py    runs the tests and programs in the page
    worker.js    starts Python in the page
"""
