"""Put the lines of source that a chapter includes with ``{literalinclude}`` into the chapter's notebook.

Sphinx puts the lines only into the page. Without this module, a downloaded notebook would show the directive.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.config import Config
from sphinx.directives.code import LiteralIncludeReader

#: Matches a directive ``{literalinclude}`` with its options in Markdown.
INCLUDE = re.compile(r"^```\{literalinclude\} (?P<path>\S+)\n(?P<options>(?:^:.*\n)*)^```$", re.MULTILINE)
OPTION = re.compile(r"^:([\w-]+): ?(.*)$", re.MULTILINE)


def lines_of(include: re.Match[str], folder: Path) -> str:
    """Return the lines that a directive of a page in ``folder`` includes, as Sphinx reads them.

    Raises:
        OSError, ValueError: if there is no such file, or if the file has no such object or line.
    """
    options = dict(OPTION.findall(include["options"]))
    text, _ = LiteralIncludeReader(str(folder / include["path"]), options, Config()).read()
    return text


def with_lines(markdown: str, folder: Path) -> str:
    """Return ``markdown``, of a page in ``folder``, with the included lines in place of the directives."""

    def code_block(include: re.Match[str]) -> str:
        name = Path(include["path"]).as_posix().lstrip("./")
        return f"```python\n# {name}\n{lines_of(include, folder)}```"

    return INCLUDE.sub(code_block, markdown)
