"""Compare a block of a translated page with its English block: code, links, marks and numbers."""

from __future__ import annotations

import ast
import operator
import re
import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from _ext.book_pages.source_blocks import SourceBlock, cell_parts  # noqa: E402

LINK = re.compile(r"\]\(([^)\s]+)\)|(?:href|src)=\"([^\"]*)\"|^```\{literalinclude\} (\S+)", re.MULTILINE)
ROLE = re.compile(r"\{([a-z][\w-]*)\}`([^`]+)`")
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
TAG = re.compile(r"</?[a-z][\w-]*")
DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)*")
#: Matches a number in the text, but not "100 million", because other languages count in other units.
NUMBER = re.compile(rf"(?<![\w.]){DIGITS.pattern}(?![\w.]*\w)(?! [mb]illion)")
WORD = re.compile(r"[A-Za-z][a-z'’]+")
#: Magics whose line is one name. A translated name may have fewer words, so the line is compared as one argument.
NAMED_BY_THE_LINE = {"%%engine"}
#: Matches a run of English words that is too long to be a name such as "Jupyter Book".
SENTENCE = re.compile(r"(?:\b[A-Za-z][a-z'’]*[ ,;:]+){5,}\b[A-Za-z][a-z'’]*")
#: Matches a passage in quotes or in italics, such as a framework's message, which is not translated.
QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\*)\*([^*]+)\*(?!\*)")
#: Matches a word that occurs only in code, such as "facts/views.json", "mt.zeros" or "float32".
IN_CODE_ONLY = re.compile(r"[A-Za-z_]*[_./\d][\w./]*")
RELATIVE = re.compile(r"(?:\.\.(?:/|$)|(?:facts|book|minitensor|book_kit|chapters)/\S+\.\w+$)")
#: Matches a file in a folder inside `chapters`, such as "small_engine/judge.py". A translated page may link to the file
#: of its edition or to the English file.
BESIDE = re.compile(r"\w+/\w+\.py")
OPTION = re.compile(r"^:[\w-]+:.*$", re.MULTILINE)
PROMPTS = {"code_prompt_show", "code_prompt_hide"}
#: Matches the width in the format of a value, such as 10 in ">10,".
WIDTH = re.compile(r"[<>^=]?\d+(?!\d*f)")
LOADED = "%load_ext book_kit"
#: The first line of a block with a program that the page shows but does not run.
PYTHON = "```python\n"
#: Matches the label of a program in a mark such as {step}`3 in normal`. A translation of the stage has other labels, so
#: a test compares the programs and steps to which the marks refer on the built pages.
OF_PROGRAM = re.compile(r" in .+")


def faults(english: SourceBlock, other: SourceBlock, code: str) -> Iterator[str]:
    """Yield the forbidden differences between a translated block and its English block.

    Args:
        code: the name of the edition, such as "zh".
    """
    if english.kind != other.kind:
        yield f"is {other.kind}, and the English block is {english.kind}"
    elif english.kind == "front matter":
        yield from _compare("front matter", _keys(english.text), _keys(other.text))
    elif english.kind == "cell":
        settings, source = cell_parts(english.text)
        own_settings, own_source = cell_parts(other.text)
        yield from _compare("settings of the cell", _settings(settings), _settings(own_settings))
        yield from code_faults(source, own_source, code)
    elif english.kind == "code" and english.text.startswith(PYTHON) and other.text.startswith(PYTHON):
        yield from code_faults(_inside(english.text), _inside(other.text), code)
    elif english.kind == "code":
        uncommented = [re.sub(r"#.*", "", text).split() for text in (english.text, other.text)]
        yield from _compare("code", *uncommented)
    else:
        yield from prose_faults(english.text, other.text)
        if english.kind.startswith("{"):
            yield from _compare("options", OPTION.findall(english.text), OPTION.findall(other.text))


def prose_faults(english: str, other: str) -> Iterator[str]:
    """Yield differences in links, marks, code, tags and numbers, and text that is not translated."""
    yield from _compare("links", _links(english, deeper=True), _links(other, deeper=False))
    yield from _compare("roles", _roles(english), _roles(other))
    plain, own_plain = ROLE.sub("", english), ROLE.sub("", other)
    yield from _compare("code", set(CODE.findall(plain)), set(CODE.findall(own_plain)))
    yield from _compare(
        "tags", Counter(TAG.findall(CODE.sub("", plain))), Counter(TAG.findall(CODE.sub("", own_plain)))
    )
    if _has_star(own_plain) and not _has_star(plain):
        yield "prints a star: bold and italics begin and end beside a letter, not beside punctuation"
    yield from untranslated(plain, own_plain)


def _roles(text: str) -> Counter[tuple[str, str]]:
    """Return the roles with their texts, and the marks of steps without the labels of programs."""
    return Counter((role, OF_PROGRAM.sub(" in", said) if role == "step" else said) for role, said in ROLE.findall(text))


def _has_star(text: str) -> bool:
    """True if the page shows a star of the source, because Markdown does not read the star as a mark of bold type."""
    (block,) = MarkdownIt().parseInline(re.sub(r"^ *\* ", "", text, flags=re.MULTILINE))  # removes the marks of a list
    return any(part.type == "text" and "*" in part.content for part in block.children or [])


def untranslated(english: str, other: str) -> Iterator[str]:
    """Yield numbers that are missing in a translation, and English sentences that remain in it."""
    words, own = _words(english), _words(other)
    if missing := sorted(set(NUMBER.findall(words)) - set(DIGITS.findall(own))):
        yield f"lacks the numbers {', '.join(missing)}"
    for passage in _quoted_passages(english) & _quoted_passages(other):  # such as messages, which are not translated
        own = own.replace(passage, " ")
    if left := SENTENCE.search(own):
        yield f"has English left: {left.group()!r}"


def _quoted_passages(text: str) -> set[str]:
    # Two stars side by side match QUOTED with an empty text.
    return {"".join(found).rstrip(" .…") for found in QUOTED.findall(text)} - {""}


def _words(text: str) -> str:
    """Return a text without code, addresses and tags."""
    without = re.sub(r"\]\([^)]*\)|<[^>]*>|\{\w+\}|https?:\S+", " ", CODE.sub(" ", text))
    return without.replace("*", "")


# ---- code ------------------------------------------------------------------------------------------------------------


def _inside(block: str) -> str:
    """Return the lines between the fences of a block."""
    return "\n".join(block.splitlines()[1:-1])


def code_faults(english: str, other: str, edition: str) -> Iterator[str]:
    """Yield the forbidden differences between two programs: only comments and the prose in strings may differ."""
    other = other.replace(f"{LOADED}.{edition}", LOADED)
    if english.startswith("%%"):
        magic, _, english = english.partition("\n")
        own_magic, _, other = other.partition("\n")
        yield from _magic_faults(magic, own_magic)
    lines, own_lines = (re.findall(r"^[%!].*$", text, re.MULTILINE) for text in (english, other))
    yield from _compare("commands", lines, own_lines)
    programs = [re.sub(r"^([ ]*)[%!].*$", r"\1pass", text, flags=re.MULTILINE) for text in (english, other)]
    try:
        trees = [ast.parse(program) for program in programs]
    except SyntaxError:
        yield from _compare("code", *(_bare(program).split() for program in programs))
        return
    blanked, own_blanked = _Blanked(), _Blanked()
    dumped, own_dumped = ast.dump(blanked.visit(trees[0])), ast.dump(own_blanked.visit(trees[1]))
    if dumped != own_dumped:
        yield f"has other code: {_first_difference(dumped, own_dumped)}"
        return
    for text, own_text in zip(blanked.texts, own_blanked.texts, strict=True):
        yield from _text_faults(text, own_text, edition)


def _bare(diff: str) -> str:
    """Return code that is not Python, such as a diff, without docstrings, comments and the texts after `@@`."""
    return re.sub(r'"""[^"]*"""|(?<!\S)#.*|(?<=@@) (?!-).*', "", diff)


class _Blanked(ast.NodeTransformer):
    """Empty each string of a program, and record its text in `texts`; an f-string has `{}` for each expression."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, str):
            return node
        self.texts.append(node.value)
        return ast.Constant("")

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """Remove the width of a column, because Chinese characters are wider than Latin ones."""
        spec = ast.unparse(node.format_spec)[2:-1] if node.format_spec else ""  # ast.unparse returns f"10,"
        precision = ast.Name(WIDTH.sub("", spec), ast.Load())
        return ast.Tuple([self.visit(node.value), ast.Constant(node.conversion), precision], ast.Load())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Sort the expressions of an f-string, because a translation may need them in another order."""
        pieces = [piece.value if isinstance(piece, ast.Constant) else "{}" for piece in node.values]
        self.texts.append("".join(map(str, pieces)))
        found = []
        for piece in node.values:
            if isinstance(piece, ast.FormattedValue):
                inside = _Blanked()
                found.append((ast.dump(inside.visit(piece)), inside.texts))
        found.sort(key=operator.itemgetter(0))  # the key is the code, because a translation changes the texts
        for _, texts in found:
            self.texts += texts
        return ast.Constant(tuple(dumped for dumped, _ in found))


def _text_faults(english: str, other: str, edition: str) -> Iterator[str]:
    """Yield the forbidden differences between a string of a program and its translation: all except prose."""
    if "\n" in english and not CODE.search(english) and _is_program(english):
        yield from code_faults(textwrap.dedent(english), textwrap.dedent(other), edition)
    elif english == other and _has_own(other, edition):
        return
    elif RELATIVE.match(english):
        yield from _compare("path", f"../{english}".rstrip("/"), other.rstrip("/"))
    elif IN_CODE_ONLY.fullmatch(english):
        yield from _compare("name", english, other)
    else:
        yield from _compare("code in a text", set(CODE.findall(english)), set(CODE.findall(other)))
        if english != other:  # equal strings may be keys of data; a test looks for English on the built page
            yield from untranslated(english, other)


def _has_own(path: str, edition: str) -> bool:
    """True if a chapter's path leads to a file in `book/` of which the edition has a translation."""
    return path.startswith("../book/") and (ROOT / edition / path.removeprefix("../")).is_file()


def _is_program(text: str) -> bool:
    try:
        statements = ast.parse(textwrap.dedent(text)).body
    except SyntaxError:
        return False
    return any(not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call) for statement in statements)


def _magic_faults(english: str, other: str) -> Iterator[str]:
    try:
        words, own = shlex.split(english), shlex.split(other)
    except ValueError:
        words, own = english.split(), other.split()
    if words[0] in NAMED_BY_THE_LINE:
        words, own = ([line[0], " ".join(line[1:])] for line in (words, own))
    if len(words) != len(own):
        yield f"has other arguments of {words[0]}: {other}"
        return
    for word, own_word in zip(words, own, strict=True):
        if word.startswith(("%", "-")) or not WORD.search(word):
            yield from _compare(f"arguments of {words[0]}", word, own_word)
        else:
            yield from _compare(f"code in {words[0]}", set(CODE.findall(word)), set(CODE.findall(own_word)))
            yield from untranslated(word, own_word)


def _first_difference(english: str, other: str) -> str:
    at = next((at for at, pair in enumerate(zip(english, other)) if len(set(pair)) > 1), min(len(english), len(other)))  # noqa: B905
    return f"{other[max(0, at - 40) : at + 60]!r} is not {english[max(0, at - 40) : at + 60]!r}"


# ---- parts -----------------------------------------------------------------------------------------------------------


def _compare(what: str, english: Any, other: Any) -> Iterator[str]:
    if english == other:
        return
    if isinstance(english, set | Counter):
        lacking, more = english - other, other - english
        parts = [("lacks", lacking), ("adds", more)]
        yield f"{what}: " + ", ".join(f"{verb} {sorted(map(str, found))}" for verb, found in parts if found)
    else:
        yield f"{what}: {other!r} is not {english!r}"


def _links(text: str, *, deeper: bool) -> Counter[str]:
    """Return the addresses in a text, as a translated page has them.

    Args:
        deeper: True for an English page. A translated page is one folder deeper, so its addresses have one more "../".
    """
    found = ["".join(groups) for groups in LINK.findall(CODE.sub("", text))]
    links = (_from_an_edition(link) if deeper or BESIDE.fullmatch(link) else link for link in found)
    # a translated page may link to the slides of its edition or to the English ones
    return Counter(re.sub(r"^\.\./slides/", "../../slides/", link) for link in links)


def _from_an_edition(link: str) -> str:
    """Return the address that a translated page has for a file of the book; other links are returned unchanged."""
    if BESIDE.fullmatch(link):
        return f"../../chapters/{link}"
    return f"../{link}" if link.startswith("../") and ".md" not in link else link


def _keys(front_matter: str) -> Any:
    return sorted(yaml.safe_load(front_matter.strip("-\n")))


def _settings(text: str) -> Any:
    settings = yaml.safe_load(text) or {}
    prompts = settings.get("mystnb", {})
    return {**settings, "mystnb": {name: value for name, value in prompts.items() if name not in PROMPTS}}
