"""Plant faults and check that the tests notice them.

python -m tests.mutations --sample 10 --seed 1
"""

from __future__ import annotations

import argparse
import queue
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from . import planted  # noqa: F401  # the import registers all mutations
from .mutation import MUTATIONS, Mutation, sample
from .runner import Tree, Verdict


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="plant every mutation")
    parser.add_argument(
        "--sample", type=int, default=10, metavar="N", help="plant N mutations, drawn at random (default: 10)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of the random sample (default: 0)")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="plant this mutation; the option may be repeated"
    )
    parser.add_argument("--file", help="plant the mutations of this source file")
    parser.add_argument("--expected", action="store_true", help="run only the tests that are expected to notice")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="test this many mutants at a time (default: 1)")
    parser.add_argument("--list", action="store_true", help="list the mutations and run nothing")
    chosen = parser.parse_args()

    unknown = [name for name in chosen.only or () if name not in MUTATIONS]
    if unknown:
        parser.error(f"unknown mutations: {', '.join(unknown)}. To see the names of all, use --list alone.")
    mutations = [m for m in MUTATIONS.values() if chosen.file in (None, m.file)]
    if chosen.only:
        mutations = [MUTATIONS[name] for name in chosen.only]
    elif not (chosen.all or chosen.file or chosen.list):
        mutations = sample(chosen.sample, chosen.seed)
    if chosen.list:
        for m in mutations:
            print(f"{m.name:34} {m.file:28} {m.sentence}")
        print(f"{len(mutations)} mutations")
        return 0
    verdicts = judge_all(mutations, max(1, chosen.jobs), not chosen.expected, bool(chosen.only))
    counts = {kind: sum(v.verdict == kind for v in verdicts) for kind in ("noticed", "survived", "broken")}
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 0 if counts["noticed"] == len(mutations) else 1


def judge_all(mutations: list[Mutation], jobs: int, with_others: bool, verbose: bool) -> list[Verdict]:
    """Test all mutants, ``jobs`` at a time, and print each verdict.

    Args:
        with_others: True to run all other tests if the expected ones do not notice.
        verbose: True to print the fault and the message for every verdict.
    """
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="minitensor-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        trees: queue.Queue[Tree] = queue.Queue()
        for number in range(jobs):
            trees.put(Tree(Path(folder).resolve() / str(number)))

        def judge(mutation: Mutation) -> Verdict:
            tree = trees.get()
            try:
                return tree.judge(mutation, with_others)
            finally:
                trees.put(tree)

        for task in as_completed([pool.submit(judge, m) for m in mutations]):
            verdict = task.result()
            verdicts.append(verdict)
            print(verdict, flush=True)
            if verbose or verdict.verdict == "broken":
                print(f"    {verdict.message}", flush=True)
            if verbose or verdict.verdict == "survived":
                m = verdict.mutation
                print(f"    {m.sentence}\n    {m.file}\n{_indented('-', m.old)}\n{_indented('+', m.new)}", flush=True)
    return verdicts


def _indented(sign: str, text: str) -> str:
    return "\n".join(f"    {sign} {line}" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
