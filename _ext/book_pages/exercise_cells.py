"""Find the statements of earlier cells that an exercise needs to run by itself.

A page shows the cell of an exercise, and Python in the page runs the reader's version of this cell. Earlier cells
define the tests of the exercise and the helpers of these tests, but they also contain stages and questions, which need
not run again. `exercises` finds the statements that bind the names in the exercise and in its solution. `lacking` finds
the packages and modules that these statements import and that Python in a page lacks.
"""

from __future__ import annotations

import ast
import builtins
import json
import subprocess
import symtable
import sys
import tempfile
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GIVEN = {"check", "require"} | set(dir(builtins))  # names that are bound before the first statement of an exercise runs
# This program reads a JSON list of exercises, and runs each of them as Python in a page would. `Absent` refuses to
# import modules that a page lacks. The program prints a JSON list with a text for each exercise: the name of the
# missing package or module, or an empty text if the exercise can run. The program runs in a separate process and in an
# empty folder, where it finds no other modules.
IN_A_PAGE = """
import json, sys, zipfile

sys.path[:0] = [sys.argv[1], sys.argv[1] + "/chapters"]
files = zipfile.ZipFile(sys.argv[2]).namelist()
parts = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}
parts |= {name.rpartition(".")[0] for name in parts}

class Absent:
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if name not in parts and package not in {*sys.stdlib_module_names, "numpy"}:
            missing = name if package in ("minitensor", "memory_stage", "book_kit") else package
            raise ModuleNotFoundError(f"{missing} is not there", name=missing)

sys.meta_path.insert(0, Absent())
from book_kit.in_page import page_kernel as in_page

found = []
for asked in json.load(sys.stdin):
    try:
        in_page.check_answer(asked)
        found.append("")
    except ModuleNotFoundError as error:
        found.append(error.name)
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Exercise:
    code: str  # the cell that a reader edits
    before: str  # the statements of earlier cells that this cell needs


def exercises(cells: Sequence[str]) -> list[Exercise]:
    """Return the exercises among the code cells of a page, in order.

    An exercise is a cell that ends with a call of ``check``. Its solution is the next cell that ends with a call of
    ``require``.
    """
    found, earlier = [], list[CellStatement]()
    trees = [_parse(cell) for cell in cells]
    for number, (cell, tree) in enumerate(zip(cells, trees, strict=True)):
        statements = [CellStatement(node) for node in tree.body]
        if _calls(tree, "check"):
            solution = next((later for later in trees[number:] if _calls(later, "require")), ast.Module([], []))
            wanted = [*statements, *map(CellStatement, solution.body)]
            found.append(Exercise(cell, "\n".join(map(ast.unparse, _dependencies(wanted, earlier).values()))))
        earlier += statements
    return found


def needed_before(cells: Sequence[str], number: int, settings: Set[str] = frozenset()) -> str:
    """Return the statements of earlier cells that a cell needs, in order.

    Args:
        cells: the code cells of a page.
        number: the number of the cell, counted from 0.
        settings: names of functions that change how later cells run. All earlier calls of these functions are needed.
    """
    earlier = [CellStatement(node) for cell in cells[:number] for node in _parse(cell).body]
    calls = {at for at, each in enumerate(earlier) if _called_name(each.node) in settings}
    wanted = [*map(CellStatement, _parse(cells[number]).body), *(earlier[at] for at in calls)]
    needed = _dependencies(wanted, earlier) | {at: earlier[at].node for at in calls}
    return "\n".join(ast.unparse(needed[at]) for at in sorted(needed))


def lacking(asked: Sequence[Exercise], wheel: Path) -> list[str]:
    """Return, for each exercise, the package or module that it needs and that a page lacks; "" if a page lacks none.

    Args:
        asked: the exercises to run.
        wheel: the wheel of minitensor that a page loads.

    Raises:
        subprocess.CalledProcessError: if the statements before an exercise fail for another reason.
    """
    requests = json.dumps([{"before": each.before, "code": each.code} for each in asked])
    with tempfile.TemporaryDirectory() as empty:
        command = [sys.executable, "-c", IN_A_PAGE, str(ROOT), str(wheel)]
        ran = subprocess.run(command, input=requests, cwd=empty, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout.splitlines()[-1])


@dataclass(frozen=True)
class CellStatement:
    """One statement of a cell, and the global names that it reads and binds."""

    node: ast.stmt

    @cached_property
    def _table(self) -> symtable.SymbolTable:
        return symtable.symtable(ast.unparse(self.node), "<cell>", "exec")

    @cached_property
    def binds(self) -> set[str]:
        symbols = self._table.get_symbols()
        return {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()} | self._changed_names()

    @cached_property
    def reads(self) -> set[str]:
        """Return the names that have to be bound before the statement runs."""
        named = {each.get_name() for each in self._table.get_symbols() if each.is_referenced()}
        return (named | self._inner(False) | self._changed_names()) - GIVEN

    @cached_property
    def reads_later(self) -> set[str]:
        """Return the names that functions defined by the statement use when they are called."""
        return self._inner(True) - GIVEN

    def _inner(self, later: bool) -> set[str]:
        """Return the global names that the statement's inner scopes use.

        Args:
            later: True for the scopes that run when a function is called; False for those that run with the statement,
                which are comprehensions and class bodies.
        """
        found, tables = set(), [(table, _is_function(table)) for table in self._table.get_children()]
        for table, runs_later in tables:
            tables += [(inner, runs_later or _is_function(inner)) for inner in table.get_children()]
            if runs_later == later:
                found |= {each.get_name() for each in table.get_symbols() if each.is_global()}
        return found

    @cached_property
    def replaces(self) -> set[str]:
        """Return the names that the statement always binds and never reads, so that earlier bindings are not needed."""
        plain = isinstance(self.node, ast.Assign | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
        return self.binds - self.reads if plain else set()

    def _changed_names(self) -> set[str]:
        """Return the names whose values the statement changes, as in ``x[0] = 1``, ``x.name = 1`` or ``x += 1``.

        Local names of a function are not included.
        """
        targets = [node for node in ast.walk(self.node) if isinstance(getattr(node, "ctx", None), ast.Store)]
        targets = [node for node in targets if not isinstance(node, ast.Name)]
        targets += [node.target for node in ast.walk(self.node) if isinstance(node, ast.AugAssign)]
        around = {each.get_name() for each in self._table.get_symbols()} | self._inner(False) | self._inner(True)
        return {root for target in targets if (root := _root(target))} & around

    def only(self, names: set[str]) -> ast.stmt:
        """Return the statement; if it is an import, an import of only these names."""
        if not isinstance(self.node, ast.Import | ast.ImportFrom):
            return self.node
        aliases = [each for each in self.node.names if (each.asname or each.name).partition(".")[0] in names]
        if isinstance(self.node, ast.Import):
            return ast.Import(aliases)
        return ast.ImportFrom(self.node.module, aliases, self.node.level)


def _dependencies(wanted: list[CellStatement], earlier: list[CellStatement]) -> dict[int, ast.stmt]:
    """Return the earlier statements that bind the names used by ``wanted``, and all statements that these need in turn.

    A statement uses the last binding of a name before the statement. The body of a function runs with the exercise, so
    it uses the last binding in ``earlier``.

    Returns:
        The statements in order, keyed by their indexes in ``earlier``.
    """
    needed: dict[int, set[str]] = {}  # the names that each needed statement has to bind
    own = {name for each in wanted for name in each.binds}
    asked = [(name, len(earlier)) for each in wanted for name in each.reads | each.reads_later if name not in own]
    while asked:
        name, end = asked.pop()
        for number in reversed(range(end)):
            statement = earlier[number]
            if name not in statement.binds:
                continue
            if number not in needed:
                asked += [(read, number) for read in statement.reads]
                asked += [(read, len(earlier)) for read in statement.reads_later]
            needed.setdefault(number, set()).add(name)
            if name in statement.replaces:
                break
    return {number: earlier[number].only(needed[number]) for number in sorted(needed)}


def _parse(cell: str) -> ast.Module:
    """Return the syntax tree of a cell without IPython's commands; an empty tree if the cell has a cell magic."""
    if cell.lstrip().startswith("%%"):
        return ast.Module([], [])
    return ast.parse("\n".join("" if line.startswith(("%", "!")) else line for line in cell.splitlines()))


def _calls(tree: ast.Module, name: str) -> bool:
    """True if the last statement of a cell calls the function of this name."""
    match tree.body[-1:]:
        case [ast.Expr(ast.Call(ast.Name(called)))]:
            return called == name
    return False


def _called_name(statement: ast.stmt) -> str | None:
    """Return the name of the function that a statement calls; None if the statement is more than a call."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(attr=name))) | ast.Expr(ast.Call(ast.Name(name))):
            return name
    return None


def _is_function(table: symtable.SymbolTable) -> bool:
    """True if a scope is the body of a function, which runs when the function is called."""
    return table.get_type() == "function" and table.get_name() not in ("genexpr", "listcomp", "setcomp", "dictcomp")


def _root(target: ast.expr) -> str | None:
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None
