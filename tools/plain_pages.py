"""Check the language of the pages: their prose, and the sentences of their questions.

    python tools/plain_pages.py              check each page against its limits (a test does this)
    python tools/plain_pages.py PATH ...     print each finding in these pages, and their figures
    python tools/plain_pages.py --figures    print the figures of each page
    python tools/plain_pages.py --tighten    tighten the limits in plain_pages.json to the figures of today

The limits differ from those of code (`tools/plain_language.py`): a page may ask questions, and the mean length of its
sentences has limits too. Appendices, among them the glossary, are not checked, because they have few sentences.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import plain_language  # noqa: E402
from tools.plain_language import CODE, FENCE, MARKUP, Finding, Text, blanked, relative_name  # noqa: E402

#: The figures that a page should have: how often a word or phrase may occur in 1,000 words, and an opening in 100
#: sentences; and the mean number of words in a sentence. "if" and "shortest" are lower limits.
TARGET = {"what": 6.0, "told": 1.0, "if": 3.0, "openings": 0.5, "phrases": 1.0, "shortest": 12.0, "longest": 22.0}
LOWER = ("if", "shortest")
#: The limits of pages that do not meet the target yet. They only get tighter.
LIMITS_FILE = Path(__file__).with_suffix(".json")
#: Functions that cells call with texts for readers.
SPEAKING = ("predict", "check", "require", "stage.compare")
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?P<source>[\s\S]*?)^```[ \t]*$", re.MULTILINE)
HEADING = re.compile(r"^#+ [^\n]*$", re.MULTILINE)
OPTIONS = re.compile(r"\A(?:---\n[\s\S]*?\n---\n|(?::[^\n]*\n)+)")
SENTENCE = re.compile(r"(?<=[.!?])['\")*]*\s+(?=[\"'(*]*[A-Z`])")


def pages() -> list[Path]:
    """Return the pages that consist of sentences: the first page, the chapters and the guides."""
    appendix = re.compile(r"[A-Z]_")
    return [ROOT / "index.md", *sorted(p for p in (ROOT / "chapters").glob("*.md") if not appendix.match(p.name))]


def texts(page: Path) -> Iterator[Text]:
    """Yield the prose of a page, and then each text of its questions and checks."""
    for text in plain_language.texts(page):
        yield Text(text.path, text.line, blanked(HEADING, text.words))
    source, name = page.read_text(encoding="utf-8"), relative_name(page)
    for cell in CELL.finditer(source):
        code = OPTIONS.sub("", cell["source"])
        code = re.sub(r"^%.*$", "", code, flags=re.MULTILINE)
        try:
            tree = ast.parse(code)
        except SyntaxError:
            continue  # the cell may have a magic for another language
        first = source.count("\n", 0, cell.end("source")) - code.count("\n")
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if ast.unparse(call.func) in SPEAKING:
                for node in ast.walk(call):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                        words = blanked(CODE, node.value)
                        yield Text(name, first + node.lineno, words)


def sentences(page: Path) -> list[str]:
    """Return the sentences of the prose of a page, without headings; inline code counts as one word."""
    source = page.read_text(encoding="utf-8")
    source = re.sub(r"`[^`\n]+`", "code", MARKUP.sub(" ", FENCE.sub("\n\n", source)))
    blocks = re.split(r"\n[ \t]*\n|\n[ \t]*(?:[-*]|\d+\.) +", source)
    return [
        sentence
        for block in blocks
        if not block.lstrip().startswith("#")
        for sentence in SENTENCE.split(" ".join(block.split()))
        if len(sentence.split()) > 2
    ]


def rates(page: Path) -> tuple[dict[str, float], list[Finding]]:
    """Return the figures of a page by the keys of `TARGET`, and its findings.

    A short page counts as 1,000 words and 200 sentences, so that it may have one finding. It needs no "if".
    """
    figures = plain_language.measure(texts(page))
    if figures.words < plain_language.SHORT:
        figures.counts["if"] = plain_language.SHORT
    figures.words, figures.sentences = max(figures.words, plain_language.SHORT), max(figures.sentences, 200)
    lengths = [len(sentence.split()) for sentence in sentences(page)]
    mean = sum(lengths) / max(len(lengths), 1)
    return figures.rates() | {"shortest": mean, "longest": mean}, figures.findings


def over(figures: dict[str, float], limits: dict[str, float]) -> list[str]:
    """Return the kinds of figures that break their limits."""
    return [
        kind for kind, limit in limits.items() if (figures[kind] < limit if kind in LOWER else figures[kind] > limit)
    ]


def limits() -> dict[str, dict[str, float]]:
    """Return the limits of each page, by its path in the repository."""
    given = json.loads(LIMITS_FILE.read_text())
    return {name: TARGET | given.get(name, {}) for name in map(relative_name, pages())}


def check() -> int:
    """Compare each page with its limits and print the findings of those that break them; return the exit status."""
    status = 0
    for name, limit in limits().items():
        figures, findings = rates(ROOT / name)
        if kinds := over(figures, limit):
            status = 1
            print(*(finding for finding in findings if finding.kind in kinds), sep="\n")
            for kind in kinds:
                most = "at least" if kind in LOWER else "at most"
                print(f"{name}: {kind} {figures[kind]:.2f}, allowed {most} {limit[kind]}")
    return status


def tighten() -> None:
    """Tighten each limit to the figure of today, if the figure is better; never loosen a limit."""
    new = {}
    for name, limit in limits().items():
        figures, _ = rates(ROOT / name)
        entry = {}
        for kind, target in TARGET.items():
            choose, worse = (max, min) if kind in LOWER else (min, max)
            rounded = (math.floor if kind in LOWER else math.ceil)(figures[kind] * 10) / 10
            tight = worse(target, choose(limit[kind], rounded))
            if tight != target:
                entry[kind] = tight
        if entry:
            new[name] = entry
    rows = ",\n".join(f'  "{name}": {json.dumps(new[name])}' for name in sorted(new))
    LIMITS_FILE.write_text("{\n" + rows + "\n}\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python tools/plain_pages.py", description="Check the language of the pages.")
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        help="pages to compare with the target (default: compare all pages with their limits)",
    )
    parser.add_argument("--figures", action="store_true", help="only print the figures of each page")
    parser.add_argument("--tighten", action="store_true", help="tighten the limits to the figures of today")
    chosen = parser.parse_args(arguments)
    if chosen.tighten:
        tighten()
    status = 0
    for page in [path.resolve() for path in chosen.paths] or (pages() if chosen.figures else []):
        figures, findings = rates(page)
        if chosen.paths:
            print(*findings, sep="\n")
            status = status or int(bool(over(figures, TARGET)))
        print(f"{relative_name(page)}: {', '.join(f'{kind} {rate:.1f}' for kind, rate in figures.items())}")
    return status if chosen.paths or chosen.figures else check()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
