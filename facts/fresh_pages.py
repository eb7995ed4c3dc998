"""Record in fresh-pages.json how many fresh pages of memory a hundred additions take from the operating system.

    python facts/fresh_pages.py numpy      in an environment that has numpy
    python facts/fresh_pages.py torch
    python facts/fresh_pages.py paddle

The matrices have 1000 x 1000 float32 numbers, 4,000,000 bytes, which are 977 pages of 4 KiB. The first write to a page
that the system has just handed out is a *minor page fault*, which ``getrusage`` counts. An allocator that reuses a
freed block for the next result causes no faults. The script runs on Linux and macOS; a page may have another size.
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

ADDITIONS = """
from resource import RUSAGE_SELF, getrusage
faults = lambda: getrusage(RUSAGE_SELF).ru_minflt
x, y = {ones}, {ones}
z = x + y
{in_place}
before = faults()
for _ in range(100):
    z = z + y
normal = faults() - before
before = faults()
for _ in range(100):
    {in_place}
written_in_place = faults() - before
""".strip()

QUESTIONS: Questions = {
    "fresh pages of a hundred additions": (
        {
            "numpy": ADDITIONS.format(ones="numpy.ones((1000, 1000), 'float32')", in_place="numpy.add(x, y, out=x)"),
            "torch": ADDITIONS.format(ones="torch.ones(1000, 1000)", in_place="x.add_(y)"),
            "paddle": ADDITIONS.format(ones="paddle.ones([1000, 1000])", in_place="x.add_(y)"),
        },
        ["normal > 90_000", "written_in_place < 1_000"],
    )
}


if __name__ == "__main__":
    write(Path(__file__).with_name("fresh-pages.json"), QUESTIONS)
