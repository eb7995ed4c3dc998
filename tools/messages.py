"""Extract the messages of the source into the catalogues of the languages, and compile the translations.

    python tools/messages.py           update and compile the catalogues, also for the scripts
    python tools/messages.py --check   list missing translations and stale files, and change nothing

Translators edit a catalogue (`.po`), in which the keys are the English texts. Python reads the JSON file beside it: the
compiled catalogue, in which the keys are digests of the texts. This file lacks texts that only scripts use. The
translations for the scripts are in another JSON file, `words.json`, which becomes a part of the bundle of the scripts.
docs/contributing/translation.md describes how to translate.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from book_kit.tables import texts as data  # noqa: E402
from memory_stage.messages.catalogues import LOCALES, digest_of  # noqa: E402

#: Maps each function that marks a message in Python to the positions of the texts among its arguments, as Babel expects
#: them. None means the first argument. A pair with "c" has the position of the context.
CALLS = {"message": None, "plural": (1, 2), "in_context": ((1, "c"), 2)}

LITERAL = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_TEXT = rf"(?:{LITERAL})(?:\s*\+\s*(?:{LITERAL}))*"
#: Matches a call that marks a message in JavaScript, if prettier has formatted the call.
CALL = re.compile(rf"(?<![\w.])(?P<function>t|plural)\(\s*(?P<one>{_TEXT})(?:,\s*(?P<several>{_TEXT}))?")

PLACEHOLDER = re.compile(r"\{(\w+)\}")

#: A fixed date of extraction for Babel, so that all runs give equal catalogues. `as_po` does not write it.
_LONG_AGO = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Package:
    """A package with catalogues.

    Attributes:
        name: the name of the package and of its catalogues.
        locale: the folder that contains a folder for each locale.
        scripts: the folder of JavaScript files with messages; None if the package has none.
        words: the JSON file with the words of the scripts; None without scripts.
        texts: a function that yields the file and the text of each message in data; None if messages are in source.
    """

    name: str
    locale: str
    scripts: str | None = None
    words: str | None = None
    texts: Callable[[Path], Iterator[tuple[str, str]]] | None = None

    def catalogue(self, code: str) -> Path:
        """Return the path of the catalogue that translators edit."""
        return ROOT / self.locale / LOCALES[code] / "LC_MESSAGES" / f"{self.name}.po"


PACKAGES = (
    Package(
        "memory_stage", "memory_stage/messages/locale", "memory_stage/web/js", "memory_stage/web/js/shared/words.json"
    ),
    Package("book_kit", "book_kit/locale"),
    Package("appendices", "book_kit/locale", texts=data.texts),
)


def sources(package: Package) -> Iterator[Path]:
    """Yield the files of a package that may contain messages, except the copies in ``build``.

    For `appendices`, whose messages are in data, there are no such files.
    """
    files = sorted((ROOT / package.name).rglob("*.py"))
    yield from (file for file in files if "build" not in file.relative_to(ROOT).parts)
    if package.scripts is not None:
        yield from sorted((ROOT / package.scripts).rglob("*.js"))


class Extracted(NamedTuple):
    """A message in the source.

    Attributes:
        texts: a text, or a pair of singular and plural.
        context: names the meaning of an ambiguous text; None for other texts.
    """

    texts: str | tuple[str, ...]
    context: str | None = None


def in_python(path: Path) -> Iterator[Extracted]:
    """Yield the messages in a module of Python."""
    for _, texts, _, context in extract_from_file("python", str(path), CALLS):
        if texts:
            yield Extracted(texts, context)


def in_script(source: str) -> Iterator[Extracted]:
    """Yield the messages in a module of JavaScript, including those inside template literals, which Babel misses."""
    for call in CALL.finditer(source):
        texts = tuple(_join(call[group]) for group in ("one", "several") if call[group] is not None)
        yield Extracted(texts if call["function"] == "plural" else texts[0])


def _join(literals: str) -> str:
    """Return the text of string literals that are joined with ``+``."""
    return "".join(ast.literal_eval(literal) for literal in re.findall(LITERAL, literals))


def extract(package: Package, code: str) -> Catalog:
    """Return the messages in the source of a package, without translations."""
    found = Catalog(locale=LOCALES[code], domain=package.name, creation_date=_LONG_AGO, revision_date=_LONG_AGO)
    for place, text in package.texts(ROOT) if package.texts is not None else ():
        found.add(text, locations=[(place, 0)])
    for path in sources(package):
        place = path.relative_to(ROOT).as_posix()
        for each in in_script(path.read_text("utf-8")) if path.suffix == ".js" else in_python(path):
            found.add(each.texts, locations=[(place, 0)], context=each.context)
    return found


def update(package: Package, code: str) -> Catalog:
    """Return a catalogue with exactly the messages of the source, and with their translations in the existing file."""
    path = package.catalogue(code)
    known = Catalog()
    if path.exists():
        with path.open("rb") as file:
            known = read_po(file, locale=LOCALES[code], domain=package.name)
    fresh = extract(package, code)
    for message in fresh:
        old = known.get(message.id, message.context)
        if message.id and old is not None and old.string:
            message.string, message.flags = _in_the_form_of(message, old.string), old.flags | message.flags
            message.user_comments = old.user_comments
    return fresh


def _in_the_form_of(message: Message, known: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Return a known translation with as many forms as the message has now: it may have gained or lost a plural."""
    if isinstance(message.id, str):
        return known if isinstance(known, str) else known[0]
    return (known,) * len(message.string) if isinstance(known, str) else known


def as_po(catalogue: Catalog) -> bytes:
    """Return a catalogue as the text of its `.po` file."""
    written = io.BytesIO()
    catalogue.fuzzy = False
    catalogue.header_comment = f"# {catalogue.domain} in {catalogue.locale_identifier}"
    write_po(written, catalogue, width=110, include_lineno=False)
    dropped = (b'"POT-Creation-Date', b'"PO-Revision-Date', b'"Last-Translator', b'"Generated-By', b'"Project-Id')
    return b"\n".join(line for line in written.getvalue().split(b"\n") if not line.startswith(dropped))


def compiled(catalogue: Catalog) -> bytes:
    """Return a catalogue as JSON: the digests of all texts as one string, and then their translations in this order.

    The translations are sorted and the digests, which look random, are apart from them, so the file compresses better.

    Raises:
        ValueError: if two texts have the same digest.
    """
    translations: dict[str, str] = {}
    for message in catalogue:
        if not message.id or not _translation(message) or all(place.endswith(".js") for place, _ in message.locations):
            continue
        text = message.id if isinstance(message.id, str) else message.id[0]
        digest = digest_of(text, message.context or "")
        if digest in translations:
            raise ValueError(f"another text has the digest of {text!r}; change one of the two")
        translations[digest] = _translation(message)
    digests = sorted(translations, key=lambda each: (translations[each], each))
    parts = ["".join(digests), *(translations[each] for each in digests)]
    return (json.dumps(parts, ensure_ascii=False, indent=0) + "\n").encode()


def script_words(package: Package) -> bytes:
    """Return the words of a package's scripts as JSON: for each language, a map from texts to translations."""
    words: dict[str, dict[str, str]] = {}
    for code in LOCALES:
        words[code] = {
            _key(message): _translation(message)
            for message in update(package, code)
            if message.id and _translation(message) and any(place.endswith(".js") for place, _ in message.locations)
        }
    return (json.dumps(words, ensure_ascii=False, indent=2) + "\n").encode()


def _key(message: Message) -> str:
    """Return the key of a message in the words of the scripts: context and text, joined as gettext does it."""
    text = message.id if isinstance(message.id, str) else message.id[0]
    return f"{message.context}\x04{text}" if message.context else text


def _translation(message: Message) -> str:
    return message.string if isinstance(message.string, str) else (message.string or [""])[0]


def outputs() -> Iterator[tuple[Path, bytes]]:
    """Yield the path and the contents of each file that this tool writes."""
    for package in PACKAGES:
        for code in LOCALES:
            catalogue = update(package, code)
            yield package.catalogue(code), as_po(catalogue)
            yield package.catalogue(code).with_suffix(".json"), compiled(catalogue)
        if package.words is not None:
            yield ROOT / package.words, script_words(package)


def faults(package: Package, code: str) -> Iterator[str]:
    """Yield a line for each message without a translation, or with one that is fuzzy or has other placeholders.

    Yield another line if the language has several plural forms.
    """
    catalogue = update(package, code)
    if catalogue.num_plurals > 1:
        yield (
            f"{package.name}, {LOCALES[code]}: the language has {catalogue.num_plurals} plural forms, but a "
            "translation can have only one. Extend `Language.template` in memory_stage/messages/catalogues.py and "
            "`plural` in memory_stage/web/js/shared/messages.js, so that they choose one of several forms"
        )
    for message in catalogue:
        if not message.id:
            continue
        texts = [message.id] if isinstance(message.id, str) else list(message.id)
        translations = [message.string] if isinstance(message.string, str) else list(message.string or [""])
        where = f"{package.name}, {LOCALES[code]}: {texts[0]!r}"
        if not all(translations):
            yield f"{where} has no translation"
        elif message.fuzzy:
            yield f"{where} is marked as fuzzy"
        elif any(set(PLACEHOLDER.findall(each)) != set(PLACEHOLDER.findall(texts[-1])) for each in translations):
            yield f"{where} has other placeholders than {translations[0]!r}"


def stale() -> list[str]:
    """Return the files that differ from those that this tool would write."""
    return [
        path.relative_to(ROOT).as_posix()
        for path, contents in outputs()
        if not path.exists() or path.read_bytes() != contents
    ]


def main(arguments: list[str]) -> int:
    """Update the catalogues, or check them."""
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    complaints = [fault for package in PACKAGES for code in LOCALES for fault in faults(package, code)]
    if arguments:
        complaints += [f"{path} is stale: run python tools/messages.py" for path in stale()]
    else:
        for path, contents in list(outputs()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
