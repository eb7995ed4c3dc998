"""What the book's notebooks use: the stage and the figures beside it, reports, questions, exercises and cell magics.

    %load_ext minitensor.notebook
    from minitensor.notebook import check, predict, require, stage
    from minitensor.notebook import allocator_map, controls, installed, meter, stride_explorer, timeline, what_fits

It needs IPython only when the extension is loaded.
May import: all that stands below ``notebook``, and ``minitensor`` itself. Nothing else imports this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitensor import stage
from minitensor.notebook import controls, explain_html, installed, ranks
from minitensor.notebook.exercise import check, require
from minitensor.notebook.quiz import predict
from minitensor.stage.figures import allocator_map, meter, stride_explorer, timeline, what_fits

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = [
    *("check", "predict", "ranks", "require", "stage"),
    *("allocator_map", "controls", "installed", "meter", "stride_explorer", "timeline", "what_fits"),
]


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the cell magics; IPython calls this for `%load_ext minitensor.notebook`."""
    from minitensor.notebook.expect import ExpectError
    from minitensor.notebook.explain_magic import ExplainMagic
    from minitensor.notebook.ranks_magic import RanksMagic
    from minitensor.notebook.stage_magic import StageMagic

    ipython.register_magics(ExpectError, ExplainMagic, RanksMagic, StageMagic)
