"""Lines of the engine that a chapter includes (``{literalinclude}``), put into the notebook that is downloaded.

A page is built beside the sources and shows the lines as they are. A notebook opened elsewhere would show the
directive.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.config import Config
from sphinx.directives.code import LiteralIncludeReader

#: A directive with its options, as MyST writes it.
INCLUDE = re.compile(r"^```\{literalinclude\} (?P<path>\S+)\n(?P<options>(?:^:.*\n)*)^```$", re.MULTILINE)
OPTION = re.compile(r"^:([\w-]+): ?(.*)$", re.MULTILINE)


def lines_of(include: re.Match[str], folder: Path) -> str:
    """What a directive of a page in ``folder`` includes, read as Sphinx reads it.

    Raises:
        OSError, ValueError: there is no such file, or no such object or line in it.
    """
    options = dict(OPTION.findall(include["options"]))
    text, _ = LiteralIncludeReader(str(folder / include["path"]), options, Config()).read()
    return text


def with_lines(markdown: str, folder: Path) -> str:
    """``markdown`` with the lines in place of the directives."""

    def shown(include: re.Match[str]) -> str:
        name = Path(include["path"]).as_posix().lstrip("./")
        return f"```python\n# {name}\n{lines_of(include, folder)}```"

    return INCLUDE.sub(shown, markdown)
