"""The cell magic ``%%stage``.

* The cell runs as it would without the magic: it assigns the same names, prints the same output, shows the value of its
  last expression, and raises the same errors.
* A cell that cannot be traced still runs, and a line under it says why it was not traced.
* With ``--compare`` the cell contains several variants (see ``cell_variants``) and assigns no names in the notebook.
"""

from __future__ import annotations

import argparse
import ast
import html
from collections.abc import Sequence
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand
from IPython.display import display

from book_kit.magics.cell_variants import compare_parts
from memory_stage.api import DEPTHS, Stage, run
from memory_stage.integrations.magic_options import MagicOptions
from memory_stage.messages import Text, message, said
from memory_stage.messages.catalogues import codes
from memory_stage.recorder.key_step import Key
from memory_stage.recorder.record import LIMIT
from memory_stage.recorder.window import checked_steps
from minitensor.engine.modes import POLICIES


class NotTraced:
    """The reason why a cell is not traced, shown as a line under the cell."""

    def __init__(self, reason: Text) -> None:
        self.text = said(message("Not traced: {reason}. The cell ran as usual.", reason=reason))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": f"<p>{html.escape(self.text)}</p>"}


_options = MagicOptions("%%stage")
_options.add_argument("--title", help="the name of the stage for a screen reader and in print")
_options.add_argument("--ask", help="a question to think about before stepping")
_options.add_argument("--ignore", action="append", default=[], metavar="NAME", help="a name that the stage leaves out")
_options.add_argument("--steps", type=int, default=LIMIT, metavar="N", help="the most steps to record")
_options.add_argument("--key", nargs="+", metavar="STEP", help="the step shown first, after the label of its variant")
_options.add_argument("--depth", choices=DEPTHS, help="how much the picture shows at first")
_options.add_argument("--language", choices=codes(), help="the language of sentences and words")
_options.add_argument("--compare", action="store_true", help="run variants, each after a line `# --- label`")
_options.add_argument("--policies", nargs="+", choices=list(POLICIES), default=[], help="a variant for each policy")
_options.add_argument("--heading", help="the heading of the table of variants")


@magics_class
class StageMagic(Magics):
    """The class that contains the cell magic ``%%stage``."""

    shell: InteractiveShell

    @no_var_expand
    @cell_magic
    def stage(self, line: str, cell: str) -> None:
        """%%stage [--title TEXT] [--ask TEXT] [--ignore NAME ...] [--steps N] [--key STEP]
        [--depth memory|tensors|history] [--language en|zh]: run the cell and show it step by step.

        %%stage --compare [--heading TEXT]: the cell contains variants, each after a line ``# --- label``. The lines
        before the first label belong to all variants. --key LABEL STEP chooses the step that is shown first.

        %%stage --compare --policies NAME NAME ...: run the cell under each policy.
        """
        __tracebackhide__ = True
        options = _options.of(line)
        try:
            checked_steps(options.steps)
            key = _key(options.key)
        except ValueError as error:
            raise UsageError(f"%%stage: {error}") from None
        if options.compare:
            display(self._compare(options, cell, key))
            return
        without_compare = "--policies" if options.policies else "--heading" if options.heading else ""
        if without_compare:
            raise UsageError(f"%%stage: {without_compare} needs --compare: %%stage --compare {line}")
        source = self.shell.transform_cell(cell)
        shows_last = not source.rstrip().endswith(";")
        if not shows_last:
            # The semicolon is not part of the program: it only suppresses the output in a notebook.
            source = source.rstrip()[:-1]
        file = self.shell.compile.cache(source, self.shell.execution_count)
        if cell.lstrip().startswith("%%"):
            try:
                _run_untraced(source, file, self.shell)
            finally:
                display(NotTraced(message("the cell magic {name} runs the code itself", name=cell.split()[0])))
            return
        done = run(
            source,
            self.shell.user_ns,
            file=file,
            ignore=frozenset(options.ignore),
            limit=options.steps,
            flags=self.shell.compile.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            show_last=shows_last,
        )
        raised, done.error = done.error, None
        try:
            shown = Stage([done], options.title, options.ask, key=key, depth=options.depth, language=options.language)
        except ValueError as wrong:
            raise UsageError(f"%%stage: {wrong}") from None
        display(shown)
        if raised is not None:
            try:
                raise raised
            finally:
                del raised  # the traceback refers to this frame, and the cycle would keep tensors alive

    def _compare(self, options: argparse.Namespace, cell: str, key: Key) -> Stage:
        return compare_parts(
            cell,
            self.shell,
            policies=options.policies,
            title=options.title,
            ask=options.ask,
            heading=options.heading,
            ignore=frozenset(options.ignore),
            limit=options.steps,
            key=key,
            depth=options.depth,
            language=options.language,
        )


def _key(words: Sequence[str] | None) -> Key:
    """Parse the words after ``--key``: the number of a step, optionally after the label of a variant.

    Return None if there is no ``--key``.
    """
    if words is None:
        return None
    *label, step = words
    if not step.isdecimal():
        raise ValueError(f"--key takes the number of a step, and before it a variant's label, not {' '.join(words)}")
    return (" ".join(label), int(step)) if label else int(step)


def _run_untraced(source: str, file: str, shell: Any) -> None:
    __tracebackhide__ = True
    exec(compile(source, file, "exec", shell.compile.flags, dont_inherit=True), shell.user_ns)
