"""A page's own HTML, mended: what assistive technology cannot follow, and what weighs without being seen."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# What is wrong in a page's HTML, as a pattern, and what stands there instead.
MENDS = (
    # Docutils puts entries into a list under a role that ARIA has withdrawn, so the list has no items.
    (re.compile('role="doc-biblioentry"'), 'role="listitem"'),
    # A folded cell is named otherwise than it reads ("Show code cell source"): its text is name enough.
    (re.compile('<summary aria-label="Toggle hidden content">'), "<summary>"),
    # The empty corner of a table is no heading.
    (re.compile(r'<th class="head[^"]*"><p></p></th>'), "<td></td>"),
    # A wide table scrolls in its box, by keyboard too.
    (
        re.compile(r'(<table class="(?:docutils|table|dataframe)\b.*?</table>)', re.DOTALL),
        r'<div class="table-scroll" tabindex="0">\1</div>',
    ),
    # So does what a cell printed, whose columns stay in line.
    (
        re.compile(r'(<div class="output (?:stream|text_plain|stderr|traceback)[^>]*>\s*<div class="highlight"><pre)>'),
        r'\1 tabindex="0">',
    ),
    # Settings of a kernel on another host, which no page starts.
    (re.compile(r'<script type="text/x-thebe-config">.*?</script>|<script>kernelName = .*?</script>', re.DOTALL), ""),
)
# The still of a stage is for readers without scripts, and for nobody else to parse: it is most of a page's elements.
# The first of a page stays, because it may be in view before the script has come.
# A script starts each of them when the reader comes near.
STAGE = re.compile("<memory-(?:stage|figure)(?=[ >])")
STILL = re.compile(r'(<div class="(?:stage|figure)-fallback">.*?</div>\s*)(?=</memory-(?:stage|figure)>)', re.DOTALL)
# Code in the book has one style, the stage's: ink, and grey for comments. The other marks are only weight.
CODE_BLOCK = re.compile(r'(<div class="highlight"><pre[^>]*>)(.*?)(</pre>)', re.DOTALL)
COLOURED = re.compile(r'<span(?: class="(?P<kind>[^"]*)")?>(?P<text>[^<]*)</span>')
COMMENTS = {"c", "c1", "ch", "cm", "cs"}
INLINE_CODE = re.compile(r'<code class="docutils literal notranslate">(.*?)</code>', re.DOTALL)
PIECE = re.compile(r"</?span[^>]*>")
OPTION = re.compile(r"(?<![\w-])--\w[\w-]*")  # of a command: it does not break after its hyphens
UNBROKEN = 26  # characters of code that stay on one line: what the narrowest phone has room for


def mend_body(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Apply the mends to the page's own content."""
    if "body" in context:
        context["body"] = mended(context["body"])


def mended(body: str) -> str:
    for fault, mend in MENDS:
        body = fault.sub(mend, body)
    if first := STILL.search(body):
        body = body[: first.end()] + STILL.sub(r"<noscript>\1</noscript>", body[first.end() :])
    body = STAGE.sub(r'\g<0> loading="lazy"', body)
    body = CODE_BLOCK.sub(lambda block: block[1] + _options_whole(COLOURED.sub(_uncoloured, block[2])) + block[3], body)
    return INLINE_CODE.sub(_unbroken, body)


def _uncoloured(token: re.Match[str]) -> str:
    return token[0] if token["kind"] in COMMENTS else token["text"]


def _unbroken(code: re.Match[str]) -> str:
    """Code in a line, in one piece: a short one stays on its line, a long one breaks at its spaces."""
    text = PIECE.sub("", code[1])
    if len(unescape(text)) <= UNBROKEN:
        return f'<code class="whole">{text}</code>'
    return f"<code>{_options_whole(text)}</code>"


def _options_whole(code: str) -> str:
    return OPTION.sub(r'<span class="whole">\g<0></span>', code)
