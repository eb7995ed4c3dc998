"""The cell magic `%%ranks`. It runs a cell on several ranks and shows their output.

    %%ranks 4 --into sums
    x = mt.ones([2]) * (rank + 1.0)
    dist.all_reduce(x)
    x.tolist()

* ``--into NAME``: assign to this name in the notebook a list with the value of the last expression on each rank.
* ``--loses RANK``: the cell is expected to end the process of this rank, and fails if the process survives.
* If any rank raises an error, the cell fails with the errors of all ranks.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand
from IPython.display import display

from book_kit import ranks
from memory_stage.integrations.magic_options import MagicOptions
from memory_stage.messages import Text, listed, message, plural, said
from memory_stage.web.embed import page_assets

_options = MagicOptions("%%ranks")
_options.add_argument("count", nargs="?", type=int, help="the number of ranks; all by default")
_options.add_argument("--into", metavar="NAME", help="the name for the values of the last expression")
_options.add_argument("--loses", type=int, metavar="RANK", help="the rank that ends in this cell")


@dataclass(frozen=True)
class RanksOutput:
    """A text under a heading: the output of the ranks, or the error that names a lost rank."""

    heading: str
    text: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = (
            f'<div class="mt-note mt-ranks mathjax_ignore"><p class="mt-kind">{html.escape(self.heading)}</p>\n'
            f"<pre>{html.escape(self.text)}</pre></div>"
        )
        return {
            "text/plain": f"{self.heading}\n{self.text}",
            "text/html": page_assets("quiz.css", package="book_kit.web") + page,
        }


@magics_class
class RanksMagic(Magics):
    """The class that contains the cell magic `%%ranks`."""

    shell: InteractiveShell

    @no_var_expand
    @cell_magic
    def ranks(self, line: str, cell: str) -> None:
        """%%ranks [COUNT] [--into NAME] [--loses RANK]: run the cell on several ranks."""
        options = _options.of(line)
        if options.loses is not None:
            display(lost(cell, options.count, options.loses))
            return
        answers = ranks.run(cell, options.count)
        errors = {rank: each.error for rank, each in enumerate(answers) if each.error is not None}
        text = joined([each.printed for each in answers])
        if text:
            display(RanksOutput(heading(len(answers)), text))
        if errors:
            lines = "\n".join(f"  rank {rank}: {error}" for rank, error in errors.items())
            raise RuntimeError(f"the cell failed on {len(errors)} of {len(answers)} ranks\n{lines}")
        if options.into:
            self.shell.user_ns[options.into] = [each.value for each in answers]


def lost(cell: str, count: int | None, rank: int) -> RanksOutput:
    """Run a cell that has to end ``rank``, and return the RankLostError as output.

    Raises:
        AssertionError: if the cell does not end ``rank``.
    """
    try:
        answers = ranks.run(cell, count)
    except ranks.RankLostError as error:
        if rank not in error.ranks:
            raise AssertionError(f"this cell has to lose rank {rank}, but it lost {error.ranks}") from error
        return RanksOutput(_as_recorded(message("Expected error")), f"RankLostError: {error}")
    raise AssertionError(f"this cell has to lose rank {rank}, but all {len(answers)} ranks answered")


def heading(count: int) -> str:
    """Return the heading above the output."""
    return _as_recorded(plural("{count} rank", "{count} ranks", count))


def _as_recorded(heading: Text) -> str:
    """Return a heading in the notebook's language. For recorded answers, add the versions of the libraries."""
    started = ranks.started()
    if started is not None and started.recorded:
        heading = message("{heading}, recorded with {versions}", heading=heading, versions=started.about)
    return said(heading)


def joined(printed: list[str]) -> str:
    """Join the output of the ranks. Ranks with the same output share one heading. Ranks without output are left out."""
    same: dict[str, list[int]] = {}
    for rank, each in enumerate(printed):
        same.setdefault(each.rstrip("\n"), []).append(rank)
    same.pop("", None)
    if len(same) == 1 and len(next(iter(same.values()))) == len(printed):
        (text,) = same
        return text if len(printed) == 1 else _labelled(message("all ranks:"), text)
    parts = []
    for text, those in same.items():
        who = plural("rank {ranks}:", "ranks {ranks}:", len(those), ranks=listed(map(str, those)))
        parts.append(_labelled(who, text))
    return "\n".join(parts)


def _labelled(label: Text, text: str) -> str:
    return f"{said(label)}\n{_indent(text)}" if "\n" in text else f"{said(label)} {text}"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
