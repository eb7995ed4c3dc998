"""The magics ``%%explain`` and ``%explain``: run code and report its in-place operations.

    %%explain
    x = w * 1
    x.sin_()

The code behaves as without the magic: names, output, errors, the value of its last expression.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display

from book_kit.magics.expect import numbered_as_seen
from book_kit.magics.magic_options import MagicOptions
from memory_stage.api import run
from memory_stage.engines.router import FRAMEWORKS
from memory_stage.explanation.minitensor import Listener
from memory_stage.explanation.step_reporter import StepReporter
from minitensor.engine.modes import POLICIES, set_inplace_policy
from minitensor.memory.reachable_names import names_in, tensors_in

_options = MagicOptions("%%explain")
_options.add_argument("--policy", choices=list(POLICIES), help="the in-place policy to run the cell under")

MOST_STEPS = 10_000  # for code on tensors of a framework


def _uses_a_framework(source: str) -> bool:
    """True if code may use tensors of PyTorch or Paddle: a framework is loaded, or the code imports it."""
    loads = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    return any(name in sys.modules or name in loads for name in FRAMEWORKS)


@magics_class
class ExplainMagic(Magics):
    """The magics ``%%explain`` and ``%explain``."""

    shell: InteractiveShell

    @no_var_expand
    @line_cell_magic
    def explain(self, line: str, cell: str | None = None) -> None:
        """%%explain [--policy NAME]: run the cell, then show its in-place operations; %explain STATEMENT: the same."""
        __tracebackhide__ = True
        policy = None
        if cell is None:
            source = self.shell.transform_cell(line)
        else:
            policy = _options.of(line).policy
            source = numbered_as_seen(cell, self.shell.transform_cell(cell))
        parts = self._compiled(source)
        names = self.shell.user_ns
        mentioned = dict.fromkeys(name for code in parts for name in names_in(code))
        known = [found for name in mentioned if name in names for found in tensors_in(name, names[name])]
        if _uses_a_framework(source):
            del known
            self._explain_framework(source)
            return
        listener = Listener(known)
        del known
        try:
            with listener, set_inplace_policy(policy) if policy else contextlib.nullcontext():
                for code in parts:
                    exec(code, names)
        finally:
            display(listener.report)

    def _explain_framework(self, source: str) -> None:
        """Run code on tensors of PyTorch or Paddle, step by step, and report its writes."""
        explaining = StepReporter()
        done = run(
            source,
            self.shell.user_ns,
            file=self.shell.compile.cache(source, self.shell.execution_count),
            flags=self.shell.compile.flags,
            show_last=not source.rstrip().endswith(";"),
            limit=MOST_STEPS,
            echo=True,
            on_step=explaining.on_step,
        )
        display(explaining.report(done.variant))
        raised, done.error = done.error, None
        if raised is not None:
            try:
                raise raised
            finally:
                del raised  # the traceback refers to this frame, and the cycle would keep tensors alive

    def _compiled(self, source: str) -> list[Any]:
        """Compile a cell so that the value of its last expression is shown, as a notebook does."""
        file = self.shell.compile.cache(source, self.shell.execution_count)
        flags = self.shell.compile.flags
        tree = compile(source, file, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        shows = last is not None and not source.rstrip().endswith(";")
        pieces: list[tuple[Any, str]] = [(tree, "exec")]
        if last is not None:
            pieces.append((ast.Interactive([last]), "single") if shows else (ast.Module([last], []), "exec"))
        return [compile(piece, file, mode, flags, dont_inherit=True) for piece, mode in pieces]
