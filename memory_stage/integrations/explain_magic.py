"""The magics ``%%explain`` and ``%explain``: run code and explain its in-place operations.

    %load_ext memory_stage

    %%explain
    for x in batches:
        loss = net(x).mean()
        loss.backward()

The code runs as without the magic, with the same names, output, errors, and value of the last expression. A cell of
PyTorch or Paddle may contain a whole training: the magic watches it as ``with memory_stage.explain():`` does. For a
cell of minitensor the magic shows a table of all in-place operations.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display

from memory_stage.engines.protocol import POLICIES
from memory_stage.engines.router import FRAMEWORKS, Router, has_minitensor
from memory_stage.explanation.whole_run.explanation import Explanation, watching
from memory_stage.integrations.magic_options import MagicOptions, number_of_cell, numbered_as_seen
from memory_stage.messages import language, speaking
from memory_stage.messages.catalogues import codes

if has_minitensor():
    from memory_stage.explanation.minitensor.listener import listener_of_cell

_options = MagicOptions("%%explain")
_options.add_argument("--policy", choices=list(POLICIES), help="the in-place policy of minitensor for the cell")
_options.add_argument("--all", action="store_true", help="also list the lines that write in place without a fault")
_options.add_argument("--language", choices=codes(), help="the language of the report; by default English")


@magics_class
class ExplainMagic(Magics):
    """The class that contains the magics ``%%explain`` and ``%explain``."""

    shell: InteractiveShell

    @no_var_expand
    @line_cell_magic
    def explain(self, line: str, cell: str | None = None) -> None:
        """%%explain [--all] [--policy NAME] [--language en|zh]: run the cell, and explain its in-place operations.

        %explain STATEMENT does the same for one statement.
        """
        __tracebackhide__ = True
        options = _options.of("" if cell is None else line)
        source = self.shell.transform_cell(line if cell is None else cell)
        if cell is not None:
            source = numbered_as_seen(cell, source)
        parts = self._compiled(source)
        policy = Router().policy(options.policy) if options.policy else contextlib.nullcontext()
        words = speaking(language(options.language)) if options.language else contextlib.nullcontext()
        with policy, words:
            self._watch(parts, _uses_framework(source) or not has_minitensor(), options.all)

    def _watch(self, parts: list[Any], has_framework: bool, with_harmless: bool) -> None:
        """Run code, and explain the in-place operations of minitensor and of the frameworks that the code used."""
        __tracebackhide__ = True
        names = self.shell.user_ns
        listener = listener_of_cell(parts, names) if has_minitensor() else None
        try:
            explanation = watching(names, parts[0].co_filename) if has_framework else None
        except ImportError as error:
            raise UsageError(f"%%explain: {error}") from None
        try:
            with listener or contextlib.nullcontext(), explanation or contextlib.nullcontext():
                for code in parts:
                    exec(code, names)
        finally:
            shows_listener = listener is not None and bool(explanation is None or listener.report.totals.operations)
            if listener is not None and shows_listener:
                display(listener.report)
            if explanation is not None and (explanation.faults or not shows_listener):
                display(ShownExplanation(explanation, with_harmless))

    def _compiled(self, source: str) -> list[Any]:
        """Compile a cell so that it shows the value of its last expression, as in a notebook."""
        file = self.shell.compile.cache(source, number_of_cell(self.shell))
        flags = self.shell.compile.flags
        tree = compile(source, file, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        shows = last is not None and not source.rstrip().endswith(";")
        pieces: list[tuple[Any, str]] = [(tree, "exec")]
        if last is not None:
            pieces.append((ast.Interactive([last]), "single") if shows else (ast.Module([last], []), "exec"))
        return [compile(piece, file, mode, flags, dont_inherit=True) for piece, mode in pieces]


class ShownExplanation:
    """An explanation as the output of a cell."""

    def __init__(self, explanation: Explanation, with_harmless: bool) -> None:
        self._text = explanation.text(with_harmless)

    def __repr__(self) -> str:
        return self._text


def _uses_framework(source: str) -> bool:
    """True if code may use tensors of PyTorch or Paddle: a framework is loaded, or the code imports one."""
    imports = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    return any(name in sys.modules or name in imports for name in FRAMEWORKS)
