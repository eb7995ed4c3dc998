"""Run the random alias programs in minitensor, compare them with PyTorch, and count the outcomes.

python -m tests.support.vocabulary.aliases            counts, and the shortest program without a kind
python -m tests.support.vocabulary.aliases 1506 4015  some programs, with their differences
"""

from __future__ import annotations

import sys
from collections import Counter

from . import judging
from .generator import COUNT


def main(arguments: list[str]) -> int:
    """Return the number of programs that differ from PyTorch without a named kind."""
    answers = judging.record()["answers"]
    numbers = [int(number) for number in arguments] or range(COUNT)
    counts: Counter[str] = Counter()
    unknown = []
    for number in numbers:
        judged = judging.judge(number, answers[number])
        counts.update(judged.verdicts)
        if judging.UNKNOWN in judged.verdicts:
            unknown.append((len(judged.lines), number, judged))
        if arguments:
            show(number, judged)
    print(f"{len(numbers):,} programs. A program may differ in several ways.")
    for verdict, count in counts.most_common():
        print(f"{count:6,}  {verdict}")
    if unknown and not arguments:
        print("\nThe shortest program without a kind:")
        show(*min(unknown, key=lambda one: one[:2])[1:])
    return len(unknown)


def show(number: int, judged: judging.Judged) -> None:
    print(f"program {number}: {', '.join(judged.verdicts)}")
    for line in judged.lines:
        print(f"    {line.text}" + (f"        # accepted: {line.accepted}" if line.accepted else ""))
    for what, theirs, ours in judged.left:
        print(f"  {what}: PyTorch {theirs}, here {ours}")


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 100))
