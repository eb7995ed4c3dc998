"""Run the variants of one cell and show them side by side: ``%%stage --compare``.

    %%stage --compare
    x = mt.ones([3])
    # --- normal
    y = x + 1
    # --- in place
    y = x.add_(1)

* The lines before the first ``# --- label`` belong to every variant.
* Alternatively, the whole cell runs once under each policy: ``%%stage --compare --policies 2.5 2.6 copy_on_write``.
* A variant can read the notebook's names, such as functions. Its assignments are undone afterwards.
* A variant cannot read the notebook's tensors, and must create new ones. So every variant starts with the same values,
  and no tensor of the notebook is changed.
* An error is shown at its step and not raised, because a variant that fails is also a result.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memory_stage.api import BY_POLICY, BY_VARIANT, Stage, run_variant
from memory_stage.engines.protocol import Engine
from memory_stage.engines.router import Router
from memory_stage.recorder.key_step import Key
from memory_stage.recorder.program_source import check_syntax

try:
    from IPython.core.error import UsageError
except ImportError:  # a page has no magics
    UsageError = ValueError  # type: ignore[assignment, misc]  # the page shows it as an error of the program's text

_BEGINS = re.compile(r"# ---(?:[ \t]+(.*))?")

HOW = (
    "Begin each variant with a line `# --- label`, or run the cell under several policies: "
    "%%stage --compare --policies 2.5 2.6 copy_on_write"
)


def programs_of(cell: str, policies: Sequence[str]) -> dict[str, str]:
    """Return a dict that maps the label of each variant of a cell to its program, in their order.

    Raises:
        UsageError: if the cell has fewer than two variants, a variant has no code, ``policies`` has fewer than two
            different policies, or a label is empty or repeated.
    """
    common, parts = _parts(cell)
    if policies:
        if parts:
            label = next(iter(parts))
            raise _wrong(f"--policies runs the whole cell, so it takes no line `# --- {label}`")
        if len(policies) < 2 or len(set(policies)) < len(policies):
            raise _wrong(f"--policies takes two policies or more, each once, not {' '.join(policies)}")
        parts, common = dict.fromkeys(policies, common), ""
    if not parts:
        raise _wrong(f"the cell has one program and nothing to compare it with. {HOW}")
    if len(parts) < 2:
        raise _wrong(f"the cell has one variant, {next(iter(parts))!r}, and nothing to compare it with. {HOW}")
    programs = {label: "\n".join(text for text in (common, part) if text) for label, part in parts.items()}
    empty = [label for label, program in programs.items() if not program]
    if empty:
        raise _wrong(f"the variant {empty[0]!r} has no code")
    return programs


def _parts(cell: str) -> tuple[str, dict[str, str]]:
    """Return the lines before the first variant, and the variants, keyed by their labels."""
    common: list[str] = []
    parts: dict[str, list[str]] = {}
    lines = common
    for number, line in enumerate(cell.splitlines(), 1):
        begins = _BEGINS.fullmatch(line.rstrip())
        if begins is None:
            lines.append(line)
            continue
        label = (begins[1] or "").strip()
        if not label:
            raise _wrong(f"line {number} begins a variant without a label. Write `# --- label`")
        if label in parts:
            raise _wrong(f"line {number} begins another variant {label!r}. Use each label once")
        lines = parts[label] = []
    return _text(common), {label: _text(lines) for label, lines in parts.items()}


def _text(lines: list[str]) -> str:
    """Join the lines without empty lines at the beginning and at the end."""
    return "\n".join(lines).strip("\n").rstrip()


def _wrong(what: str) -> UsageError:
    return UsageError(f"%%stage --compare: {what}.")


def compare_parts(
    cell: str,
    shell: Any,
    *,
    policies: Sequence[str] = (),
    title: str | None = None,
    ask: str | None = None,
    heading: str | None = None,
    ignore: frozenset[str] = frozenset(),
    limit: int,
    key: Key = None,
    depth: str | None = None,
    language: str | None = None,
) -> Stage:
    """Run the variants of a cell one after another in the notebook's namespace, and return their stage.

    Raises:
        UsageError: if the cell is not a comparison, or a variant reads a tensor of the notebook.
        SyntaxError: if a variant cannot be compiled. This is checked before the first variant runs.
    """
    sources = {label: shell.transform_cell(program) for label, program in programs_of(cell, policies).items()}
    flags = shell.compile.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for label, source in sources.items():
        _check(label, source, flags)
    recordings = []
    for number, (label, source) in enumerate(sources.items(), 1):
        with _names_restored(shell.user_ns), _without_tensors(shell.user_ns, Router()) as hidden:
            done = run_variant(
                source,
                shell.user_ns,
                id_=f"v{number}",
                label=label,
                policy=label if policies else None,
                ignore=ignore,
                limit=limit,
                flags=flags,
            )
        if isinstance(done.error, NameError) and done.error.name in hidden:
            name = done.error.name
            raise _wrong(
                f"the variant {label!r} reads `{name}` of an earlier cell, which holds a tensor. Every variant has to "
                f"begin with the same numbers: make `{name}` in this cell"
                + ("" if policies else ", before the first line `# --- label`")
            )
        recordings.append(done)
    table = heading or (BY_POLICY if policies else BY_VARIANT)
    return Stage(recordings, title, ask, table, key=key, depth=depth, language=language)


def _check(label: str, source: str, flags: int) -> None:
    """Raise an error if a variant cannot run in the notebook."""
    if source.lstrip().startswith("get_ipython().run_cell_magic("):
        raise _wrong(f"the variant {label!r} begins with a cell magic, which would run the code itself")
    tree = check_syntax(label, source, flags)
    if not tree.body:
        raise _wrong(f"the variant {label!r} has no code")


# ---------- the names of the notebook ----------

#: The names that IPython adds to a notebook.
_OF_IPYTHON = frozenset(("In", "Out", "_ih", "_oh", "_dh", "get_ipython", "exit", "quit"))

#: Types of objects that are not searched for tensors.
_OPAQUE = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, str, int, float)
#: How deep an object is searched for tensors. The path model, dict, layer, dict, layer, parameter has this length.
_DEEPEST = 6


@contextlib.contextmanager
def _names_restored(names: dict[str, Any]) -> Iterator[None]:
    """Restore all names of the notebook at the end of the block."""
    before = dict(names)
    try:
        yield
    finally:
        for name in [name for name in names if name not in before]:
            del names[name]
        names.update(before)


@contextlib.contextmanager
def _without_tensors(names: dict[str, Any], engine: Engine) -> Iterator[set[str]]:
    """Remove the names from which a tensor can be reached, and yield them. `_names_restored` brings them back."""
    hidden = {name for name, value in names.items() if name not in _OF_IPYTHON and _holds_a_tensor(value, engine)}
    for name in hidden:
        del names[name]
    yield hidden


def _holds_a_tensor(value: Any, engine: Engine) -> bool:
    """True if a tensor can be reached from ``value`` through containers and attributes."""
    seen: set[int] = set()
    level = [value]
    for _ in range(_DEEPEST):
        found: list[Any] = []
        for each in level:
            if engine.is_tensor(each):
                return True
            if id(each) not in seen:
                seen.add(id(each))
                found += _inside(each)
        level = found
    return any(engine.is_tensor(each) for each in level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, _OPAQUE):
        return ()
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if type(value).__module__.partition(".")[0] in sys.stdlib_module_names:
        return ()
    attributes = getattr(value, "__dict__", None)
    return attributes.values() if type(attributes) is dict else ()
