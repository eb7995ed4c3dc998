"""The words around the content of a page, in the language of the edition that is built.

The catalogue of an edition is its file ``words.po`` (gettext), for example ``zh/words.po``. Its keys are the English
texts in this package and in its templates and scripts. The texts of scripts have the context "script". The build writes
their translations into each page of the edition, where ``theme/live/words.js`` reads them. English pages need no
catalogue.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from babel.messages.pofile import read_po
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from .translated import edition_of

CATALOGUE = "words.po"
OF_HEADING = "Link to this heading"
SCRIPT = "script"  # the context of texts in scripts
HERE = Path(__file__).parent
#: Match texts to translate: in templates, an argument of `say`; in scripts, an argument of `t`.
IN_TEMPLATE = re.compile(r"\bsay\(\s*(?:\"([^\"]*)\"|'([^']*)')")
IN_SCRIPT = re.compile(r"(?<![\w.])t\(\s*(?:'((?:[^'\\]|\\.)*)'|`([^`$]*)`|\"([^\"]*)\")")


def say(app: Sphinx, text: str, **values: Any) -> str:
    """Return a text in the language of the edition, with ``values`` in place of its placeholders, such as ``{name}``.

    Raises:
        ExtensionError: if the catalogue of the edition lacks the text.
    """
    edition = edition_of(app)
    if edition:
        path = edition.folder / CATALOGUE
        known = catalogue(path)
        if ("", text) not in known:
            raise ExtensionError(f"{path} has no translation of {text!r}")
        text = known["", text]
    return text.format(**values) if values else text


@cache
def catalogue(path: Path) -> dict[tuple[str, str], str]:
    """Return the translated texts of a catalogue, keyed by context and English text; {} if there is no such file."""
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        found = read_po(file)
    return {
        (message.context or "", str(message.id)): str(message.string)
        for message in found
        if message.id and message.string and not message.fuzzy
    }


def of_scripts(path: Path) -> dict[str, str]:
    """Return the translated texts of scripts in a catalogue, keyed by their English text."""
    return {text: said for (context, text), said in catalogue(path).items() if context == SCRIPT}


def add_to_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the function ``say``, and the words of scripts as JSON, to the context of templates."""
    context["say"] = lambda text, **values: say(app, text, **values)
    edition = edition_of(app)
    words = of_scripts(edition.folder / CATALOGUE) if edition else {}
    text = json.dumps(words, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    context["script_words"] = text if words else ""
    if edition and "body" in context:  # Sphinx has no Chinese translation of this text
        context["body"] = context["body"].replace(f'title="{OF_HEADING}"', f'title="{say(app, OF_HEADING)}"')


def used() -> set[tuple[str, str]]:
    """Return the context and the text of each message in this package's sources.

    A test compares the catalogues with these messages.
    """
    found: set[tuple[str, str]] = set()
    for path in sorted(HERE.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                text = node.args[-1]
                text = constants.get(text.id, text) if isinstance(text, ast.Name) else text
                if isinstance(text, ast.Constant):
                    found.add(("", text.value))
    for path in sorted((HERE / "theme").rglob("*.html")):
        source = path.read_text(encoding="utf-8")
        found |= {("", double or single) for double, single in IN_TEMPLATE.findall(source)}
    for path in sorted(path for folder in ("js", "live") for path in (HERE / "theme" / folder).rglob("*.js")):
        source = path.read_text(encoding="utf-8")
        found |= {
            (SCRIPT, one.replace("\\'", "'") or other or third) for one, other, third in IN_SCRIPT.findall(source)
        }
    return found
