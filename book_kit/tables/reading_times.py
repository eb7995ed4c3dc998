"""Reading times and addresses of the book's pages, for the page of learning paths in any language."""

from __future__ import annotations

import re
from pathlib import Path

from memory_stage.messages import language, message, said

WORDS_A_MINUTE = 150
CHARACTERS_A_MINUTE = 300  # characters of Chinese text
MINUTES_A_FIGURE = 1.5
LINES_A_MINUTE = 40  # lines of code that the page shows

_FIGURE = re.compile(r"^(?:%%stage|predict\(|stage\.(?:compare|record)\(|check\()", re.MULTILINE)
_CELL = re.compile(r"^(`{3,})\{code-cell\}(.*?)^\1", re.MULTILINE | re.DOTALL)
_HIDDEN = re.compile(r"tags: *\[[^]]*(?:remove-input|hide-input|hide-cell)")
_FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
_CHINESE = re.compile("[\u4e00-\u9fff]")
_WORD = re.compile(r"[^\s\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]*\w[^\s\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]*")


def minutes(page: str) -> int:
    """Return the minutes for reading a page carefully: its prose, its code, and each stage, question and exercise.

    Args:
        page: the page's file without a suffix, for example "03_views".

    Raises:
        FileNotFoundError: if there is no such page.
    """
    text = Path(f"{page}.md").read_text(encoding="utf-8").partition("\n---\n")[2]
    prose = _FENCED.sub("", text)
    characters = len(_CHINESE.findall(prose))
    words = len(_WORD.findall(_CHINESE.sub(" ", prose)))
    reading = words / WORDS_A_MINUTE + characters / CHARACTERS_A_MINUTE + _shown_lines(text) / LINES_A_MINUTE
    exact = reading + MINUTES_A_FIGURE * len(_FIGURE.findall(text))
    return max(5, 5 * round(exact / 5))


def _shown_lines(text: str) -> int:
    """Return the number of visible lines of code, without those of stages, questions and exercises."""
    shown = [cell for _, cell in _CELL.findall(text) if not _HIDDEN.search(cell) and not _FIGURE.search(cell)]
    # without the first line, which names the language
    return sum(len(cell.strip("\n").splitlines()) - 1 for cell in shown)


def rule() -> str:
    """Return a sentence, in the notebook's language, about the rule by which the minutes are computed."""
    sentence = message(
        "{pace} words or {lines} lines of code a minute, and {while_} minutes for each stage, question and exercise.",
        pace=CHARACTERS_A_MINUTE if language().code == "zh" else WORDS_A_MINUTE,
        lines=LINES_A_MINUTE,
        while_=str(MINUTES_A_FIGURE),
    )
    return said(sentence)


def address(link: str) -> str:
    """Return the address of a built page for a link to its source, such as "03_views.md#a-part".

    If the page is not in this folder, it has no translation, and the address is that of the English page.
    """
    page, _, place = link.partition("#")
    built = page.removesuffix(".md") + ".html" + (f"#{place}" if place else "")
    return built if Path(page).is_file() else f"../../chapters/{built}"
