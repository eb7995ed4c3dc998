"""Run the learners' programs in minitensor, compare them with the record, and print the differences.

python -m tests.support.vocabulary.programs                       run all programs of both frameworks
python -m tests.support.vocabulary.programs torch kept_gradients  run the named programs, and print their outputs too
"""

from __future__ import annotations

import sys

from tests.support.vocabulary.programs import differences, judging, running


def main(arguments: list[str]) -> int:
    """Return the number of programs with differences that ``differences.py`` does not list."""
    vocabularies = [name for name in ("torch", "paddle") if name in arguments] or ["torch", "paddle"]
    chosen = [name for name in arguments if name not in ("torch", "paddle")]
    unexpected = 0
    for vocabulary in vocabularies:
        counts = dict.fromkeys(("the same", "differs in a listed way", "on purpose", "not yet", "unexpected"), 0)
        for name, program in running.programs(vocabulary).items():
            if chosen and name not in chosen:
                continue
            judged = judging.judge(vocabulary, name, program)
            verdict = judged.verdict
            counts[verdict] += 1
            unexpected += verdict == "unexpected"
            if verdict == "the same" and not chosen:
                continue
            print(f"{vocabulary}/{name}.py: {verdict}, compared with {judged.version}. {judged.reason}".rstrip())
            for what, text in judged.found.items():
                print(f"    {what}: {text}")
            if chosen:
                print("    -- printed by minitensor:\n" + judged.ours.get("out", "") + judged.ours.get("error", ""))
        print(f"{vocabulary}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "\n")
    print("Kinds: " + "; ".join(f"{name} ({reason})" for name, reason, _ in differences.KINDS))
    return unexpected


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 100))
