"""Show which translated pages are older than their English pages, and record that a translation is up to date.

    python tools/translation.py status             list all pages as translated, behind, unrecorded or missing
    python tools/translation.py check PAGE ...     list code, links and numbers that a translation has changed
    python tools/translation.py accept PAGE ...    record that each block translates today's English block

PAGE is the English page, for example chapters/03_views. --edition zh is needed only if there are several editions.

`accept` writes zh/sources/PAGE.json, with a hash of each English block. When the English page changes later, `status`
and tests/chapters/test_translations.py name the blocks, and the built page shows a notice.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from _ext.book_pages.languages import Edition, contents, editions  # noqa: E402
from _ext.book_pages.source_blocks import blocks  # noqa: E402
from _ext.book_pages.translated import headings  # noqa: E402
from tools.parity import faults  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=["status", "check", "accept"])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--edition", default=None)
    given = parser.parse_args()
    known = {edition.code: edition for edition in editions(ROOT)}
    if given.edition is None and len(known) != 1:
        parser.error(f"name one of the editions with --edition: {', '.join(known)}")
    edition = known.get(given.edition or next(iter(known)))
    if edition is None:
        parser.error(f"there is no edition {given.edition!r}; there are {', '.join(known)}")
    pages = [page.removeprefix(f"{edition.code}/").removesuffix(".md") for page in given.pages]
    if unknown := [page for page in pages if page not in set(contents(ROOT))]:
        parser.error(f"not in _toc.yml: {', '.join(unknown)}")
    if given.job == "status":
        show_status(edition)
        return 0
    failed = False
    for page in pages:
        if found := page_faults(edition, page):
            print("\n".join(found))
            failed = True
        elif given.job == "accept":
            edition.record(page, headings(edition.english(page)))
            print(f"{page}: recorded")
    return int(failed)


def show_status(edition: Edition) -> None:
    for page in contents(edition.book):
        if not edition.has(page):
            print(f"missing     {page}")
        elif not edition.source_of(page):
            print(f"unrecorded  {page}: run `python tools/translation.py accept {page}`")
        elif changed := edition.changed(page):
            print(f"behind      {page}")
            print("\n".join(f"            {each}" for each in changed))
        else:
            print(f"translated  {page}")


def page_faults(edition: Edition, page: str) -> list[str]:
    """Return the forbidden differences of a translated page from the English one, with their files and lines."""
    path = edition.folder / f"{page}.md"
    if not path.is_file():
        return [f"{path.relative_to(edition.book)}: missing"]
    english, own = blocks(edition.english(page)), blocks(path.read_text(encoding="utf-8"))
    found = []
    for block, translated in zip(english, own, strict=False):
        place = f"{path.relative_to(edition.book)}:{translated.line} (English line {block.line})"
        found += [f"{place}: {fault}" for fault in faults(block, translated, edition.code)]
        if block.kind != translated.kind:
            return found  # all later blocks are shifted, so comparing them is useless
    if len(english) != len(own):
        found.append(f"{path.relative_to(edition.book)}: {len(own)} blocks, and the English page has {len(english)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
