"""Tools for the book's notebooks: the stage, its figures, reports, questions, exercises and cell magics.

    %load_ext book_kit
    from book_kit import check, predict, require, stage
    from book_kit import allocator_map, meter, stride_explorer, timeline, what_fits
    from book_kit.widgets import controls, installed

Only loading the extension needs IPython.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import memory_stage as stage
from book_kit import ranks
from book_kit.questions.exercise import check, require
from book_kit.questions.quiz import predict
from book_kit.widgets import controls, installed, report_html
from memory_stage.figures import allocator_map, meter, stride_explorer, timeline, what_fits
from memory_stage.messages import add_catalogues
from minitensor.engine.core.storage import engine_packages

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = [
    *("check", "predict", "ranks", "require", "stage"),
    *("allocator_map", "controls", "installed", "meter", "stride_explorer", "timeline", "what_fits"),
]


# Frames of this package are not the reader's program, so errors and reports must never name a line of this package.
engine_packages.own.add("book_kit")
engine_packages.clear()  # an earlier look-up may have cached that book_kit is no engine package

add_catalogues("book_kit", Path(__file__).with_name("locale"))


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the cell magics. IPython calls this function for `%load_ext book_kit`."""
    from book_kit.magics.expect import ExpectError
    from book_kit.magics.ranks_magic import RanksMagic
    from book_kit.magics.stage_magic import StageMagic
    from memory_stage.integrations.explain_magic import ExplainMagic

    ipython.register_magics(ExpectError, ExplainMagic, RanksMagic, StageMagic)
