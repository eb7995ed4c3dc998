"""The engine's own tests, and random programs against exact derivatives, under Python in a real browser.

    python -m tests.in_the_browser                       all files of tests of `files.py`, and 20,000 programs; an hour
    python -m tests.in_the_browser tests/minitensor/engine/test_views.py --programs 500

Python in a page is CPython compiled to WebAssembly: its addresses and numpy's `intp` have 32 bits, there are no threads
and no processes. What runs there are the very wheels that `tools/live.py` lays beside the pages, in a worker, in
Chromium; pytest comes out of this environment.

    files.py     which files of tests run there, and which do not, each with its reason
    absent.py    what a page does not have, and the single tests that ask for it
    driving.py   packs what is needed, opens the browser, and takes what it tells
    inside.py    runs there
    worker.js    starts Python there
"""
