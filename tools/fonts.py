"""Make the book's fonts by cutting subsets from the complete WOFF2 files of IBM Plex.

    npm pack @ibm/plex-sans@1.1.0 @ibm/plex-mono@2.5.0        # then unpack both, for instance with tar
    python tools/fonts.py plex-sans/package plex-mono/package

The five fonts have the characters of English pages, their code and their pictures, 60 KB in all. The licence reserves
the name "Plex" for the complete fonts, so the subsets are called "Book Sans" and "Book Mono".
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

TARGET = Path(__file__).resolve().parent.parent / "_ext" / "book_pages" / "theme" / "static" / "fonts"
# Maps a source file to the family and the style of the font that is made from it.
FACES = {
    "IBMPlexSans-Regular": ("Book Sans", "Regular"),
    "IBMPlexSans-Italic": ("Book Sans", "Italic"),
    "IBMPlexSans-SemiBold": ("Book Sans", "SemiBold"),
    "IBMPlexMono-Regular": ("Book Mono", "Regular"),
    "IBMPlexMono-SemiBold": ("Book Mono", "SemiBold"),
}
LATIN = [*range(0x20, 0x7F), *range(0xA0, 0x100), 0x131, 0x152, 0x153]
SIGNS = [ord(sign) for sign in "–—‘’‚“”„†•…‹›′″€←↑→↓↔−×÷≠≤≥≈∞∂∑√·●○✓✗◆■□▲△▶▷▼▽◀⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃⌘☰"]
FEATURES = ["kern", "mark", "mkmk", "tnum", "zero", "ccmp", "locl"]
# Ids in a font's name table: family, unique identifier, full name, PostScript name and typographic family.
FAMILY, UNIQUE, FULL, POSTSCRIPT, TYPOGRAPHIC_FAMILY = 1, 3, 4, 6, 16


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    found = {path.stem: path for folder in sys.argv[1:] for path in Path(folder).rglob("complete/**/*.woff2")}
    if missing := sorted(set(FACES) - set(found)):
        sys.exit(f"No complete WOFF2 file of {', '.join(missing)} below {', '.join(sys.argv[1:])}")
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, (family, style) in FACES.items():
        cut(found[name], family, style)
    shutil.copyfile(Path(sys.argv[1]) / "LICENSE.txt", TARGET / "OFL.txt")


def cut(source: Path, family: str, style: str) -> None:
    """Write the subset of one face under a family name of the book."""
    options = subset.Options()
    options.flavor = "woff2"
    options.layout_features = FEATURES
    options.hinting = False
    options.name_IDs = ["*"]
    cutter = subset.Subsetter(options)
    target = TARGET / f"{family.replace(' ', '')}-{style}.woff2"
    with TTFont(source) as face:
        cutter.populate(unicodes=[*LATIN, *SIGNS])
        cutter.subset(face)
        rename(face, family, style)
        subset.save_font(face, str(target), options)
    print(f"{target.name}: {target.stat().st_size:,} bytes")


def rename(face: TTFont, family: str, style: str) -> None:
    full, postscript = f"{family} {style}", f"{family}-{style}".replace(" ", "")
    names = {FAMILY: family, UNIQUE: postscript, FULL: full, POSTSCRIPT: postscript, TYPOGRAPHIC_FAMILY: family}
    for record in list(face["name"].names):
        if record.nameID in names:
            face["name"].setName(
                names[record.nameID], record.nameID, record.platformID, record.platEncID, record.langID
            )


if __name__ == "__main__":
    main()
