"""Copy lines of the engine that a chapter includes (``{literalinclude}``) into its notebook.

Sphinx includes the lines in the page. A downloaded notebook would show the directive instead.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.config import Config
from sphinx.directives.code import LiteralIncludeReader

#: Matches a directive and its options, as MyST writes it.
INCLUDE = re.compile(r"^```\{literalinclude\} (?P<path>\S+)\n(?P<options>(?:^:.*\n)*)^```$", re.MULTILINE)
OPTION = re.compile(r"^:([\w-]+): ?(.*)$", re.MULTILINE)


def lines_of(include: re.Match[str], folder: Path) -> str:
    """Return the lines that a directive of a page in ``folder`` includes, as Sphinx reads them.

    Raises:
        OSError, ValueError: if there is no such file, or no such object or line in it.
    """
    options = dict(OPTION.findall(include["options"]))
    text, _ = LiteralIncludeReader(str(folder / include["path"]), options, Config()).read()
    return text


def with_lines(markdown: str, folder: Path) -> str:
    """Return ``markdown`` with the included lines in place of the directives."""

    def code_block(include: re.Match[str]) -> str:
        name = Path(include["path"]).as_posix().lstrip("./")
        return f"```python\n# {name}\n{lines_of(include, folder)}```"

    return INCLUDE.sub(code_block, markdown)
