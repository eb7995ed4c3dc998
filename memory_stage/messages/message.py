"""Messages: texts with named values, which a translation can put in another order.

``message("Line {line} calls {function}.", line=3, function="`f`")`` is a value and not a text. ``render`` returns its
text in a language, and ``str`` its English text. The first argument is the key in the catalogues, so it is always a
literal, which ``tools/messages.py`` finds in the source.

A value is a number, a text that is the same in all languages (a name, code, a shape), a noun phrase or clause that is
itself a message, or a list of these, which ``joined`` joins by the rules of the language.

A :class:`PlacedText` remembers the place of a text in a trace, so that the trace can be written in another language.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory_stage.messages.catalogues import ENGLISH, Language, default_language

if TYPE_CHECKING:
    from memory_stage.messages.catalogues import Language


@dataclass(frozen=True)
class Message:
    """A text with named values.

    Attributes:
        text: the English text, with placeholders such as ``{line}``.
        several: the English text for a ``count`` other than 1, or None if the text has no plural.
        count: selects the plural form; also the value of ``{count}``.
        values: the values of the placeholders.
        context: the meaning of an ambiguous text; empty if the text has one meaning.
    """

    text: str
    values: tuple[tuple[str, Text], ...] = ()
    several: str | None = None
    count: int = 1
    context: str = ""

    def __str__(self) -> str:
        return render(self, ENGLISH)


@dataclass(frozen=True)
class Joined:
    """Several texts that are joined by the rules of a language.

    Attributes:
        middle: the message that joins the text so far, ``{first}``, with the next text, ``{next}``.
        last: the message that joins the last text.
    """

    parts: tuple[Text, ...]
    middle: Message
    last: Message

    def __str__(self) -> str:
        return render(self, ENGLISH)


@dataclass(frozen=True)
class Cased:
    """A text for the beginning of a sentence (with a capital letter) or for its middle; see :meth:`Language.cased`."""

    inner: Text
    capital: bool

    def __str__(self) -> str:
        return render(self, ENGLISH)


Text: TypeAlias = "str | Message | Joined | Cased"


def message(text: str, /, **values: Text | int) -> Message:
    """Return the message ``text`` with these values."""
    return Message(text, _as_texts(values))


def in_context(context: str, text: str, /, **values: Text | int) -> Message:
    """Return the message ``text`` in one of its meanings: in the context "notebook", "cell" means one of a notebook."""
    return Message(text, _as_texts(values), context=context)


def plural(one: str, several: str, count: int, /, **values: Text | int) -> Message:
    """Return the message ``one`` or ``several``, whichever a language uses for ``count``, with these values.

    ``{count}`` is replaced by the count, unless ``values`` has another text for it.
    """
    return Message(one, _as_texts({"count": count, **values}), several, count)


def _as_texts(values: Mapping[str, Text | int]) -> tuple[tuple[str, Text], ...]:
    return tuple((name, str(value) if isinstance(value, int) else value) for name, value in values.items())


def joined(parts: Iterable[Text]) -> Text:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    return _join(parts, message("{first}, {next}"), message("{first} and {next}"))


def listed(parts: Iterable[Text]) -> Text:
    """Return ``a, b, c``."""
    following = message("{first}, {next}")
    return _join(parts, following, following)


def then(clauses: Iterable[Text]) -> Text:
    """Return clauses for events that happen in this order: ``a; then b``."""
    following = message("{first}; then {next}")
    return _join(clauses, following, following)


def sentences(parts: Iterable[Text]) -> Text:
    """Return whole sentences, one after the other."""
    following = message("{first} {next}")
    return _join(parts, following, following)


def _join(parts: Iterable[Text], middle: Message, last: Message) -> Text:
    parts = tuple(parts)
    return parts[0] if len(parts) == 1 else Joined(parts, middle, last)


def capitalized(text: Text) -> Text:
    """Return a text that begins with a capital if the language has capitals."""
    return Cased(text, capital=True)


def continued(text: Text) -> Text:
    """Return a text for the middle of a sentence, with "line" in place of "Line" at its beginning."""
    return Cased(text, capital=False)


def render(text: Text, language: Language) -> str:
    """Return the text in a language."""
    return language.without_extra_spaces(_render(text, language)) if not isinstance(text, str) else text


def said(text: Text) -> str:
    """Return the text in the language that ``set_language`` has set."""
    return render(text, default_language())


def _render(text: Text, language: Language) -> str:
    if isinstance(text, str):
        return text
    if isinstance(text, Message):
        return language.template(text.text, text.several, text.count, text.context).format_map(
            {name: _render(value, language) for name, value in text.values}
        )
    if isinstance(text, Cased):
        return language.cased(_render(text.inner, language), text.capital)
    rendered = ""
    for number, part in enumerate(text.parts):
        pattern = text.last if number == len(text.parts) - 1 else text.middle
        rendered = _pair(pattern, rendered, part, language) if number else _render(part, language)
    return rendered


def _pair(pattern: Message, first: str, following: Text, language: Language) -> str:
    template = language.template(pattern.text, None, 1)
    return template.format(first=first, next=_render(following, language))


def words_in(texts: Sequence[Text]) -> int:
    """Return the number of English words in some texts. A limit on words counts these in every language."""
    return len(" ".join(str(text) for text in texts).split())


class PlacedText(NamedTuple):
    """A text and its place in a trace.

    Attributes:
        inside: the object or list of the trace that contains the text.
        key: the key of the text in that object, or its index in that list.
    """

    inside: Any
    key: str | int
    text: Text


def texts_of(parts: Iterable[dict[str, Any]], keys: Iterable[str]) -> list[PlacedText]:
    """Replace the messages under ``keys`` of these objects by English text. Return the messages with their places."""
    found = [
        PlacedText(part, key, part[key])
        for part in parts
        for key in keys
        if part.get(key) is not None and not isinstance(part[key], str)
    ]
    for inside, key, text in found:
        inside[key] = str(text)
    return found


def lines_of(lines: Iterable[Text]) -> tuple[list[str], list[PlacedText]]:
    """Return lines as English text, and the messages among them with their places."""
    given = list(lines)
    written = [str(line) for line in given]
    return written, [PlacedText(written, at, line) for at, line in enumerate(given) if not isinstance(line, str)]


def write_in(language: Language, texts: Iterable[PlacedText]) -> None:
    """Write each text in a language at its place."""
    for inside, key, text in texts:
        inside[key] = render(text, language)
