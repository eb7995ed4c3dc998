"""Repair the HTML of a page.

This mends markup that assistive technology cannot read, and removes markup that takes many bytes and has no effect.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from memory_stage.messages import columns

# Patterns of faults in a page's HTML, with their replacements.
MENDS = (
    # Docutils gives the entries of a bibliography a role that ARIA has withdrawn, so a screen reader finds a list
    # without items.
    (re.compile('role="doc-biblioentry"'), 'role="listitem"'),
    # The visible text of a folded cell ("Show code cell source") is a sufficient name for a screen reader. The
    # aria-label would replace it by a different name.
    (re.compile('<summary aria-label="Toggle hidden content">'), "<summary>"),
    # The empty corner of a table must not be a heading.
    (re.compile(r'<th class="head[^"]*"><p></p></th>'), "<td></td>"),
    # Printed output keeps its columns aligned, so a wide output scrolls. With a tabindex it gets the focus, and the
    # arrow keys can scroll it.
    (
        re.compile(r'(<div class="output (?:stream|text_plain|stderr|traceback)[^>]*>\s*<div class="highlight"><pre)>'),
        r'\1 tabindex="0">',
    ),
    # Classes and elements of Sphinx that no style sheet and no script uses.
    (re.compile(' class="reference (?:internal|external)"'), ""),
    (re.compile(r'(?<= class=")([^"]*) reference (?:internal|external)(?=")'), r"\1"),
    (re.compile('<span class="std std-(?:doc|ref)">(.*?)</span>', re.DOTALL), r"\1"),
    (re.compile('highlight-ipython3 (?=notranslate")'), ""),
    # Settings for a kernel on another host, which pages never start.
    (re.compile(r'<script type="text/x-thebe-config">.*?</script>|<script>kernelName = .*?</script>', re.DOTALL), ""),
)
TABLE = re.compile(r'<table class="(docutils|table|dataframe)\b(.*?)</table>', re.DOTALL)
ROW = re.compile(r"<tr.*?</tr>", re.DOTALL)
CELL = re.compile(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
LONG_ROW = 105  # if any row of a table has more characters, a phone shows the cells of each row below each other
# Each stage contains a static picture for readers without scripts. Most elements of a page belong to these pictures, so
# the pictures are put into <noscript>, which browsers with scripts do not parse. The first picture of a page stays
# outside, because it may be in view before the script is loaded. A script starts a stage when it is scrolled near.
STAGE = re.compile("<memory-(?:stage|figure)(?=[ >])")
STILL = re.compile(r'(<div class="(?:stage|figure)-fallback">.*?</div>\s*)(?=</memory-(?:stage|figure)>)', re.DOTALL)
# Each picture contains the style of all pictures, so that it can be copied alone. A page needs this style only once.
PICTURE_STYLE = re.compile(r"<style>\.memory-(?:figure-)?picture\b.*?</style>", re.DOTALL)
PICTURE = re.compile(r'<svg [^>]*class="memory-(?:figure-)?picture".*?</svg>', re.DOTALL)
# Matches a colour or font of a picture. The value after the comma is for places that remove style sheets. A page does
# not need this value, because it has the style.
FALLBACK = re.compile(r"var\((--[a-z0-9]+),[^)]*\)")
NOSCRIPT = re.compile(r"<noscript\b.*?</noscript>", re.DOTALL)
# An SVG file needs this namespace, and an SVG element of an HTML page does not.
NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
# Matches the attributes by which scripts find the parts of a picture. In <noscript>, no script reads them.
PART = re.compile(r'(?<=[a-z"]) (?:data-[a-z-]+="[^"]*"|class="cell")')
# Code in the book looks as on a stage: comments are grey, and everything else has one colour. So only the elements that
# Pygments makes for comments are needed.
CODE_BLOCK = re.compile(r'(<div class="highlight"><pre[^>]*>)(.*?)(</pre>)', re.DOTALL)
COLOURED = re.compile(r'<span(?: class="(?P<kind>[^"]*)")?>(?P<text>[^<]*)</span>')
COMMENTS = {"c", "c1", "ch", "cm", "cs"}
INLINE_CODE = re.compile(r'<code class="docutils literal notranslate">(.*?)</code>', re.DOTALL)
PIECE = re.compile(r"</?span[^>]*>")
# matches an option of a command, in which no line may break after a hyphen
OPTION = re.compile(r"(?<![\w-])--\w[\w-]*")
UNBROKEN = 26  # inline code with at most this many characters stays on one line; it fits on the narrowest phone


def mend_body(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Apply the repairs to the content of the page, and move the style of its pictures to its head."""
    if "body" in context:
        body = mend(context["body"])
        styles = dict.fromkeys(PICTURE_STYLE.findall(body))
        context["body"] = _light_pictures(PICTURE_STYLE.sub("", body))
        context["metatags"] = "\n".join([context.get("metatags") or "", *styles])


def mend(body: str) -> str:
    for fault, replacement in MENDS:
        body = fault.sub(replacement, body)
    body = TABLE.sub(_boxed_table, body)
    if first := STILL.search(body):
        body = body[: first.end()] + STILL.sub(r"<noscript>\1</noscript>", body[first.end() :])
    body = STAGE.sub(r'\g<0> loading="lazy"', body)
    body = CODE_BLOCK.sub(lambda block: block[1] + _join_options(COLOURED.sub(_plain_token, block[2])) + block[3], body)
    return INLINE_CODE.sub(_inline_code, body)


def _light_pictures(body: str) -> str:
    """Make the pictures of a page smaller.

    All pictures lose the values that repeat the style of the page. Pictures in ``<noscript>`` also lose the attributes
    that only scripts read.
    """
    body = PICTURE.sub(lambda picture: FALLBACK.sub(r"var(\1)", picture[0]).replace(NAMESPACE, ""), body)
    return NOSCRIPT.sub(lambda part: PICTURE.sub(lambda picture: TAG.sub(_without_parts, picture[0]), part[0]), body)


def _without_parts(tag: re.Match[str]) -> str:
    return PART.sub("", tag[0])


def _boxed_table(table: re.Match[str]) -> str:
    """Put a table into a box that scrolls if the table is too wide. With a tabindex, the keyboard can scroll it, too.

    If the table has more than two columns and a long row, a phone shows the cells of each row below each other. Each
    cell then begins with the head of its column, which the style sheet reads from a custom property of the table.
    """
    rows = [[_text_of(cell) for cell in CELL.findall(row)] for row in ROW.findall(table[0])]
    heads = rows[0] if "<thead" in table[2] else []
    longest = max((sum(map(columns, row)) for row in rows[1:]), default=0)
    opening = f'<table class="{table[1]}'
    if len(heads) > 2 and longest > LONG_ROW:
        texts = ";".join(f"--h{number}:{_css_string(head)}" for number, head in enumerate(heads, start=1) if number > 1)
        opening = f'<table style="{escape(texts)}" class="stacked {table[1]}'
    return f'<div class="table-scroll" tabindex="0">{opening}{table[2]}</table></div>'


def _text_of(html: str) -> str:
    return " ".join(unescape(TAG.sub("", html)).split())


def _css_string(text: str) -> str:
    return "'" + text.replace("\\", r"\\").replace("'", r"\'") + "'"


def _plain_token(token: re.Match[str]) -> str:
    return token[0] if token["kind"] in COMMENTS else token["text"]


def _inline_code(code: re.Match[str]) -> str:
    """Keep a short piece of inline code on one line. Let a long one break only at its spaces."""
    text = PIECE.sub("", code[1])
    if len(unescape(text)) <= UNBROKEN:
        return f'<code class="whole">{text}</code>'
    return f"<code>{_join_options(text)}</code>"


def _join_options(code: str) -> str:
    """Forbid a line break inside the options of commands."""
    return OPTION.sub(r'<span class="whole">\g<0></span>', code)
