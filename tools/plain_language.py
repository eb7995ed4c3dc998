"""Check the language of docstrings, comments and chapters.

    python tools/plain_language.py              check the code of each package against its limits (in `make check`)
    python tools/plain_language.py PATH ...     print each finding in these files or folders, and their figures
    python tools/plain_language.py --figures    print the figures of each package and of the chapters
    python tools/plain_language.py --tighten    tighten the limits in plain_language.json to the figures of today

The exit status is 1 if a package exceeds a limit. With PATH, it is 1 if the files miss the target, or have a finding
other than "what". The figures are the numbers of certain words and phrases per 1,000 words, and of certain openings per
100 sentences. Only code has limits here; `tools/plain_pages.py` checks the chapters.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: The figures that a text should have: at least the one for "if", and at most the others. Words and phrases are counted
#: per 1,000 words, openings per 100 sentences. Five libraries with good docstrings have figures of 0 to 0.9 for "what",
#: 0 to 0.1 for "told" and 3.8 to 13.8 for "if".
TARGET = {"what": 3.0, "told": 0.1, "if": 3.0, "openings": 0.5, "phrases": 0.5}
#: A text with fewer words than this need not contain "if".
SHORT = 1000
#: `--tighten` sets a limit to a figure times this factor, so that one more sentence does not exceed the limit.
ROOM = 1.2
#: The file with the limits of packages that do not meet the target yet. Its keys are the beginnings of their paths. The
#: limits only get tighter.
LIMITS_FILE = Path(__file__).with_suffix(".json")

FOLDERS = (
    "minitensor", "memory_stage", "book_kit", "tools", "_ext", "benchmarks", "facts", "chapters", "book", "tests",
)  # fmt: skip
#: Matches paths that are not checked: programs that people typed, generated files and copies of other projects.
SKIPPED = re.compile(
    r"(^|/)(programs/(torch|paddle|reports)|peers/programs|node_modules|built|vendor|_build)/|\.min\.js$"
)

WORDS = {"what": r"\bwhat\b", "told": r"\b(?:told|tell|tells|telling)\b", "if": r"\bif\b"}
#: Phrases that nobody says aloud, each with the words to use instead. The list has only phrases with few false alarms.
PHRASES = {
    r"\b(?:is|are|was|were) so(?=[.,;:)]|$)": "repeat the adjective or the verb",
    r"\bso (?:is|are|does|did|has|have) (?!not\b|to\b|been\b)": "name the thing that is alike: 'x is copied too'",
    r"\bso (?:it|they) (?:is|are|was|were)(?=[.,;:)]|$)": "repeat the adjective or the verb",
    r"\bof (?:its|their|one's) own\b": "say 'its own x'",
    r"\bas (?:it|they) (?:is|are|was|were)(?=[.,;:)]|$)": "say 'unchanged'",
    r"\b(?:lets?|letting) go\b": "say free, release or drop",
    r"\b(?:hears?|heard|hearing)\b": "say receive, subscribe or listen",
    r"\b(?:is|are|was|were|be|been|has|have|had) (?:gone|met)\b": "say freed, removed or deleted; registered or seen",
    r"\b(?:stands|stood|lies|lain)\b": "say is, is stored or is written",
    r"\b(?:comes?|came) (?:about|of)\b": "say arises or results from",
    r"\bmakes? good\b|\bmade good\b": "say undo, restore or repair",
    r"\bknows? (?:nothing )?of\b": "say refers to, or imports",
    r"\bgoes on\b|\bgone on\b": "say continues",
    r"\bno more(?=[.,;:)]|$)": "say no longer",
    r"\bsays? (?:so|which)\b": "name the message or the value",
}
ANY_PHRASE = re.compile("|".join(f"({phrase})" for phrase in PHRASES).replace(" ", r"\s+"), re.IGNORECASE)
#: Words with which only a question may begin, such as "What", and participles before a verb, such as "Made are".
OPENINGS = (
    r"(?:(?:[Ww]hat|[Ww]ho|[Ww]hose|Of|[Nn]obody)|(?:Made|Taken|Written|Kept|Left|Given|Found|Seen|Named|Asked|Shown|"
    r"Counted)\s+(?:is|are|was|were))\b"
)
#: Matches the beginning of a text, of a paragraph or of an item of a list, and the space after a full stop.
BEGINNING = r"(?:\A\s*|\n[ \t]*\n\s*|(?<=[.!?])['\")]*\s+|\n[ \t]*[-*] +)(?:\w+: +)?"


@dataclass(frozen=True)
class Text:
    """A docstring, a block of comments or the prose of a chapter.

    Attributes:
        path: the file, relative to the repository.
        line: the number of its first line.
        words: its text, with spaces instead of code, and with the line breaks of the source.
    """

    path: str
    line: int
    words: str


@dataclass(frozen=True)
class Finding:
    """A word or a phrase with its place.

    Attributes:
        path: the file, relative to the repository.
        line: the number of the line.
        kind: one of the keys of `TARGET`.
        words: the words found.
        why: the reason, and the words to write instead.
    """

    path: str
    line: int
    kind: str
    words: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.words.split())!r}: {self.why}"


# ---- texts -----------------------------------------------------------------------------------------------------------

PYTHON = re.compile(
    r'''(?P<docstring>[rRuU]?(?:"""(?:\\.|[\s\S])*?"""|'''
    r"""'''(?:\\.|[\s\S])*?'''"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|(?P<comment>\#[^\n]*)"""
)
JAVASCRIPT = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"""
    r"""|(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)"""
    r"""|(?P<pattern>(?<=[=(,:!&|?{};\[])[ ]*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*)"""
)
DIRECTIVE = re.compile(r"^(?:noqa\b.*|type: ignore\S*|fmt: \w+|mypy:.*|!.*|eslint-.*|@ts-\S+|-+$)")
#: Parts of a text that are not prose: literals, addresses, examples with their output.
CODE = re.compile(
    r"``[^`]*``|`[^`]*`|https?://\S+|^[ \t]*>>> [^\n]*(?:\n[ \t]*\S[^\n]*)*|[\"“][^\"”\n]*[\"”]", re.MULTILINE
)
FENCE = re.compile(r"^(?P<marks>`{3,})[^\n]*\n[\s\S]*?^(?P=marks)[ \t]*$", re.MULTILINE)
MARKUP = re.compile(
    r"\A---\n[\s\S]*?\n---\n|^:{3,}[^\n]*$|^:[\w-]+:[^\n]*$|^\(\S+\)=$|^\|[^\n]*\|$|^%[^\n]*$|<!--[\s\S]*?-->|<[^>\n]+>"
    r"|\]\([^)\n]*\)|\$\$[\s\S]*?\$\$|\$[^$\n]+\$|^ *\[[\w-]+\]:[^\n]*$",
    re.MULTILINE,
)
ROLE = re.compile(r"\{[\w:-]+\}`[^`]*`")


def texts(path: Path) -> Iterator[Text]:
    """Yield the texts of a Python file, a JavaScript file or a chapter."""
    source, name = path.read_text(encoding="utf-8"), relative_name(path)
    if path.suffix == ".py":
        yield from _of_python(source, name)
    elif path.suffix in (".js", ".mjs"):
        yield from _of_javascript(source, name)
    elif path.suffix == ".md":
        yield Text(name, 1, blanked(CODE, blanked(ROLE, blanked(MARKUP, blanked(FENCE, source)))))


def _of_python(source: str, path: str) -> Iterator[Text]:
    """Yield docstrings and comments.

    A regular expression takes a fifth of the time of `ast` and `tokenize`. A test compares the results of both ways.
    A docstring is a string alone on its lines, first in the file or after a colon.
    """
    comments, code, end = [], "", 0
    for found in PYTHON.finditer(source):
        code = source[end : found.start()].strip() or code
        end = found.end()
        if found["comment"]:
            comments.append((found.start(), found["comment"].lstrip("#:").removeprefix(" ")))
        elif (not code or code.endswith(":")) and source[end : end + 1] in ("", "\n") and _is_alone(source, found):
            text = re.sub(r"^\w?(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", "", found["docstring"])
            yield Text(path, source.count("\n", 0, found.start()) + 1, blanked(CODE, text))
        if found["docstring"]:
            code = "string"
    yield from _in_blocks(comments, source, path)


def _is_alone(source: str, found: re.Match[str]) -> bool:
    return not source[source.rfind("\n", 0, found.start()) + 1 : found.start()].strip()


def _of_javascript(source: str, path: str) -> Iterator[Text]:
    comments = []
    for found in JAVASCRIPT.finditer(source):
        if comment := found["comment"]:
            text = re.sub(r"^/[/*]+ ?|\*+/$", "", comment)
            comments.append((found.start(), re.sub(r"^[ \t]*\* ?", "", text, flags=re.MULTILINE)))
    yield from _in_blocks(comments, source, path)


def _in_blocks(comments: list[tuple[int, str]], source: str, path: str) -> Iterator[Text]:
    """Join comments on consecutive lines of the same indentation, because a sentence may continue on the next line."""
    block: list[str] = []
    first = last = column = -1
    line, counted = 1, 0
    for start, text in comments:
        line, counted = line + source.count("\n", counted, start), start
        begin = source.rfind("\n", 0, start) + 1
        text = DIRECTIVE.sub("", text).strip("-= ") if DIRECTIVE.match(text) or text.startswith("--") else text
        alone = not source[begin:start].strip()
        if not (alone and line == last + 1 and start - begin == column):
            if block:
                yield Text(path, first, blanked(CODE, "\n".join(block)))
            block, first = [], line
        block.append(text)
        last, column = line + text.count("\n"), start - begin if alone else -1
    if block:
        yield Text(path, first, blanked(CODE, "\n".join(block)))


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """Replace each match by spaces, so that the positions and lines of the other text do not change."""
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def relative_name(path: Path) -> str:
    """Return the path of a file relative to the repository or, for a file elsewhere, its absolute path."""
    path = path.resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()


# ---- figures ---------------------------------------------------------------------------------------------------------


@dataclass
class Figures:
    """Counts of some texts, and the findings to correct."""

    words: int
    sentences: int
    counts: dict[str, int]
    findings: list[Finding]

    def rates(self) -> dict[str, float]:
        """Return the figures to compare with `TARGET`: counts per 1,000 words; for openings, per 100 sentences."""
        per = {kind: self.counts[kind] * 1000 / max(self.words, 1) for kind in TARGET}
        return per | {"openings": self.counts["openings"] * 100 / max(self.sentences, 1)}

    def over(self, limits: dict[str, float]) -> list[str]:
        """Return the kinds that break their limits.

        One occurrence is always allowed, and a short text need not contain "if".
        """
        lacks = ["if"] if self.words >= SHORT and self.rates()["if"] < limits["if"] else []
        return lacks + [
            kind
            for kind, rate in self.rates().items()
            if kind != "if" and rate > limits[kind] and self.counts[kind] > 1
        ]

    def __str__(self) -> str:
        return ", ".join(f"{kind} {rate:.1f}" for kind, rate in self.rates().items()) + f" in {self.words:,} words"


def measure(found: Iterable[Text]) -> Figures:
    """Count words, openings and phrases."""
    figures = Figures(0, 0, dict.fromkeys(TARGET, 0), [])
    for text in found:
        words = text.words
        figures.words += len(re.findall(r"[^\W\d_][\w']*", words))
        figures.counts["if"] += len(re.findall(WORDS["if"], words, re.IGNORECASE))
        figures.sentences += sum(1 for _ in re.finditer(BEGINNING + r"(?=\w)", words))
        for finding in _findings(text):
            figures.counts[finding.kind] += 1
            figures.findings.append(finding)
    return figures


def _findings(text: Text) -> Iterator[Finding]:
    def finding(kind: str, found: re.Match[str], why: str) -> Finding:
        begin = found.start() + len(found[0]) - len(found[0].lstrip())
        return Finding(text.path, text.line + text.words.count("\n", 0, begin), kind, found[0].strip(), why)

    for found in re.finditer(WORDS["what"], text.words, re.IGNORECASE):
        yield finding("what", found, "name the thing instead of a clause with 'what'")
    for found in re.finditer(WORDS["told"], text.words, re.IGNORECASE):
        yield finding("told", found, "say emit, notify, report, show or distinguish")
    for found in re.finditer(BEGINNING + OPENINGS, text.words):
        if not re.match(r"[^.!?]*\?", text.words[found.end() :]):
            yield finding("openings", found, "begin the sentence with its subject")
    for found in ANY_PHRASE.finditer(text.words):
        yield finding("phrases", found, list(PHRASES.values())[(found.lastindex or 1) - 1])


# ---- packages --------------------------------------------------------------------------------------------------------


def code_files(where: Path) -> list[Path]:
    """Return the Python and JavaScript files in a folder, without programs that people typed and generated files.

    If ``where`` is a file, return only this file.
    """
    if where.is_file():
        return [where]
    found = [path for suffix in ("py", "js", "mjs") for path in where.rglob(f"*.{suffix}")]
    return sorted(path for path in found if not SKIPPED.search(relative_name(path)))


def limits() -> dict[str, dict[str, float]]:
    """Return the limits of each package that does not meet the target yet, keyed by the beginning of its path."""
    return {key: TARGET | given for key, given in json.loads(LIMITS_FILE.read_text()).items()}


def packages(keys: Iterable[str]) -> dict[str, list[Path]]:
    """Return code files, keyed by the longest of ``keys`` with which their path begins, or else by their top folder."""
    found: dict[str, list[Path]] = {}
    ordered = sorted(keys, key=len, reverse=True)
    for folder in FOLDERS:
        for path in code_files(ROOT / folder):
            name = relative_name(path)
            key = next((key for key in ordered if name.startswith(f"{key}/")), folder)
            found.setdefault(key, []).append(path)
    return found


def figures_of(files: Iterable[Path]) -> Figures:
    """Count words, openings and phrases in files."""
    return measure(text for path in files for text in texts(path))


def check() -> int:
    """Compare each package with its limits, and print the findings of those that exceed them."""
    allowed, status = limits(), 0
    for key, files in packages(allowed).items():
        figures = figures_of(files)
        limit = allowed.get(key, TARGET)
        if over := figures.over(limit):
            status = 1
            for finding in figures.findings:
                if finding.kind in over:
                    print(finding)
            for kind in over:
                most = "at least" if kind == "if" else "at most"
                print(f"{key}: {kind} {figures.rates()[kind]:.2f} per 1,000 words or 100 sentences, "
                      f"allowed {most} {limit[kind]}")  # fmt: skip
    return status


def tighten() -> None:
    """Tighten the limits to the present figures, with a little room.

    A package that meets the target loses its entry.
    """
    old, new = json.loads(LIMITS_FILE.read_text()), {}
    found = packages(old)
    for key in old:
        figures = figures_of(found.get(key, ()))
        rates = figures.rates()
        floor = min(TARGET["if"], max(old[key].get("if", TARGET["if"]), math.floor(rates["if"] / ROOM * 10) / 10))
        tight = {
            kind: max(TARGET[kind], min(old[key].get(kind, TARGET[kind]), math.ceil(rates[kind] * ROOM * 10) / 10))
            for kind in TARGET
        } | {"if": floor if figures.words >= SHORT else TARGET["if"]}
        if entry := {kind: rate for kind, rate in tight.items() if rate != TARGET[kind]}:
            new[key] = entry
    LIMITS_FILE.write_text("{\n" + ",\n".join(f'  "{key}": {json.dumps(new[key])}' for key in sorted(new)) + "\n}\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python tools/plain_language.py", description="Check the language of the project.")
    parser.add_argument(
        "paths", nargs="*", type=Path, help="files or folders to check against the target (default: the packages)"
    )
    parser.add_argument("--figures", action="store_true", help="print the figures of each package and of the chapters")
    parser.add_argument("--tighten", action="store_true", help="tighten the limits to the figures of today")
    chosen = parser.parse_args(arguments)
    if chosen.tighten:
        tighten()
    if chosen.figures:
        for key, files in packages(limits()).items():
            print(f"{key}: {figures_of(files)}")
        print(f"prose of the chapters: {figures_of([ROOT / 'index.md', *sorted((ROOT / 'chapters').glob('*.md'))])}")
    if chosen.paths:
        figures = figures_of(file for path in chosen.paths for file in code_files(path))
        print(*figures.findings, sep="\n")
        print(figures)
        return 1 if figures.over(TARGET) or any(found.kind != "what" for found in figures.findings) else 0
    return check()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
