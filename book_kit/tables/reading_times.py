"""How long the pages of the book take, and where they are: for the page of learning paths, in any language."""

from __future__ import annotations

import re
from pathlib import Path

from memory_stage.messages import language, message, said

WORDS_A_MINUTE = 150
CHARACTERS_A_MINUTE = 300  # of Chinese
MINUTES_A_FIGURE = 1.5

_FIGURE = re.compile(r"^(?:%%stage|predict\(|stage\.(?:compare|record)\(|check\()", re.MULTILINE)
_FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
_CHINESE = re.compile("[\u4e00-\u9fff]")
_WORD = re.compile(r"[^\s\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]*\w[^\s\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]*")


def minutes(page: str) -> int:
    """Return how long a page takes: its prose, read with care, and a while for each stage, question and exercise.

    Args:
        page: its file without a suffix, for example "03_views".

    Raises:
        FileNotFoundError: if there is no such page.
    """
    text = Path(f"{page}.md").read_text(encoding="utf-8").partition("\n---\n")[2]
    prose = _FENCED.sub("", text)
    characters = len(_CHINESE.findall(prose))
    words = len(_WORD.findall(_CHINESE.sub(" ", prose)))
    exact = words / WORDS_A_MINUTE + characters / CHARACTERS_A_MINUTE + MINUTES_A_FIGURE * len(_FIGURE.findall(text))
    return max(5, 5 * round(exact / 5))


def rule() -> str:
    """Return in a sentence how the minutes are computed, in the notebook's language."""
    sentence = message(
        "{pace} words a minute, and {while_} minutes for each stage, question and exercise.",
        pace=CHARACTERS_A_MINUTE if language().code == "zh" else WORDS_A_MINUTE,
        while_=str(MINUTES_A_FIGURE),
    )
    return said(sentence)


def address(link: str) -> str:
    """Return the address of a built page for a link to its source, such as "03_views.md#a-part".

    A page that is not in this folder is not translated; the address is that of the English page.
    """
    page, _, place = link.partition("#")
    built = page.removesuffix(".md") + ".html" + (f"#{place}" if place else "")
    return built if Path(page).is_file() else f"../../chapters/{built}"
