"""The icon font, cut down to the icons the book shows.

The theme brings every Font Awesome icon three times over: as a script, as fonts and as style rules,
some 700 KB compressed, of which a page uses about twenty icons. What is kept is found in the built
pages themselves, so that no list has to be kept up to date.
"""

from __future__ import annotations

import re
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

# A style rule that gives icons their character: selectors, then the character as CSS writes it.
ICON_RULE = re.compile(r'((?:\.fa-[\w-]+::?before,?)+)\{content:"(\\[0-9a-f]+|[^"\\])"\}')
ICON_NAME = re.compile(r"\bfa-([a-z0-9-]+)")
ICON_CHARACTER = re.compile(r"\\([ef][0-9a-f]{3})\b|([\ue000-\uf8ff])")


def keep_used_icons(app: Sphinx, exception: Exception | None) -> None:
    """Cut style rules and fonts in the output folder down to what its pages and scripts name."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    _remove_unused_files(out)
    used_names = {name for page in _readers_of_icons(out) for name in ICON_NAME.findall(_read(page))}
    characters: set[int] = set()
    for stylesheet in (out / "_static").rglob("*.css"):
        characters |= _keep_rules(stylesheet, used_names)
    for font in (out / "_static").rglob("fa-*.woff2"):
        _keep_characters(font, characters)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _remove_unused_files(out: Path) -> None:
    """Delete the icons' script, the older font format and the source maps: no page loads them."""
    static = out / "_static"
    for pattern in ("*.map", "fa-*.ttf", "fontawesome.js*", "fontawesome/*/js/*"):
        for path in static.rglob(pattern):
            path.unlink()


def _readers_of_icons(out: Path) -> list[Path]:
    return [*out.rglob("*.html"), *(out / "_static").rglob("*.js")]


def _keep_rules(stylesheet: Path, used_names: set[str]) -> set[int]:
    """Drop the rules of unused icons; return the characters that the stylesheet still names."""
    text = _read(stylesheet)

    def keep(rule: re.Match[str]) -> str:
        return rule.group(0) if used_names & set(ICON_NAME.findall(rule.group(1))) else ""

    kept = ICON_RULE.sub(keep, text)
    if kept != text:
        stylesheet.write_text(kept, encoding="utf-8")
    return {int(code, 16) if code else ord(char) for code, char in ICON_CHARACTER.findall(kept)}


def _keep_characters(font: Path, characters: set[int]) -> None:
    options = subset.Options()
    options.flavor = "woff2"
    options.layout_features = []
    cutter = subset.Subsetter(options)
    with TTFont(font) as face:
        cutter.populate(unicodes=characters)
        cutter.subset(face)
        subset.save_font(face, str(font), options)
