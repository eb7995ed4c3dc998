"""Check the message of a commit.

    python tools/commit_message.py FILE   run by git through pre-commit, with the file that has the message

A message has the form `scope: imperative`, for example `stage: free saved tensors when a write is interrupted`. Its
first line has at most 72 characters and no full stop; an empty second line separates it from the reasons, if there are
any. Merges, reverts and commits that git squashes later are accepted unchanged.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MOST = 72  # the largest number of characters of the first line
GENERATED = re.compile(r"Merge |Revert |(?:fixup|squash|amend)! ")
SCOPE = re.compile(r"(?P<scope>[^:]*): (?P<summary>\S.*)")
LOWER_CASE = re.compile(r"[a-z0-9][a-z0-9_./-]*(?:(?:, ?| )[a-z0-9][a-z0-9_./-]*)*")
SCISSORS = "# ------------------------ >8 ------------------------"

#: Verbs in the imperative that look like a past form, a participle or a third person.
IMPERATIVES = {
    "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed", "bring", "ping", "ring", "string",
    "swing", "wring", "alias", "bias", "canvas", "focus",
}  # fmt: skip
#: Past forms and participles that do not end in "-ed".
IRREGULAR = {
    "became", "began", "begun", "broke", "broken", "brought", "built", "chose", "chosen", "done", "drew", "drawn",
    "found",
    "gave", "given", "gone", "got", "held", "kept", "left", "lost", "made", "meant", "rewritten", "rewrote", "said",
    "sent",
    "shown", "spoke", "spoken", "taken", "taught", "told", "took", "was", "went", "were", "withdrawn", "written",
    "wrote",
}  # fmt: skip


def faults(message: str) -> list[str]:
    """Return a sentence for each fault of a message."""
    lines = [line for line in message.partition(SCISSORS)[0].splitlines() if not line.startswith("#")]
    first, *rest = lines or [""]
    if GENERATED.match(first):
        return []
    if not first.strip():
        return ["The first line is empty: write `scope: imperative`."]
    found = []
    if len(first) > MOST:
        found.append(f"The first line has {len(first)} characters: shorten it to {MOST}, and move reasons to the body.")
    if first.rstrip().endswith("."):
        found.append("The first line ends with a full stop: remove it.")
    if rest and rest[0].strip():
        found.append("The second line is not empty: separate the body from the first line.")
    if not (parts := SCOPE.fullmatch(first)):
        return [
            *found,
            "The first line has no scope: write `scope: imperative`, for example `stage: free saved tensors`.",
        ]
    if not LOWER_CASE.fullmatch(parts["scope"]):
        found.append(
            f"The scope {parts['scope']!r} is not in lower case: write one or more names like `stage` or `tools`."
        )
    verb = re.match(r"[\w'-]*", parts["summary"])[0]  # type: ignore[index]  # the pattern matches every text
    if not is_imperative(verb):
        found.append(f"{verb!r} is no imperative: write what the commit does as a command, like `free` or `add`.")
    return found


def is_imperative(verb: str) -> bool:
    """True if a word does not look like a past form, a participle or a third person."""
    verb = verb.lower()
    if verb in IMPERATIVES:
        return True
    return not (verb in IRREGULAR or re.search(r"(?:[^e]ed|eed|[a-z]{2}ing|[^s]s)$", verb))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python tools/commit_message.py FILE", file=sys.stderr)
        return 2
    found = faults(Path(arguments[0]).read_text(encoding="utf-8"))
    print(*found, sep="\n", end="\n" * bool(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
