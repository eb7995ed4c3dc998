"""The stage: memory, step by step.

    %%stage --title "Normal operation" --ask "How many storages are there after line 2?"
    x = mt.ones([3])
    y = x + 1

The cell magic runs a cell and shows what each statement did to memory. ``record`` does the same for a program given
as text, ``trace`` for a call of a function, and ``compare`` shows several programs as variants of one stage. ``save``
writes a stage to a file of its own.

What leaves the cell is one HTML element with its data, a picture and every sentence inside it, so it can be read
without JavaScript. Text of the program never becomes markup.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import os
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memory_stage.engines.protocol import DEFAULT_POLICY, POLICIES, Engine
from memory_stage.engines.router import Router, has_minitensor
from memory_stage.explanation.verdicts import Verdict
from memory_stage.recorder import record as recording
from memory_stage.recorder.align_variants import apart
from memory_stage.recorder.key_step import Key, name_key_steps
from memory_stage.web import picture
from memory_stage.web.embed import page_script, whole_page
from memory_stage.web.static_html import as_html, as_text

if has_minitensor():
    from memory_stage.explanation.minitensor.outcome import Ending

TITLE = "What the program does to memory"

_numbers = itertools.count(1)

_last: dict[str, Any] | None = None  # the data of the stage made last, for ``save``


class Stage:
    """One or more recorded runs, ready to be shown.

    Attributes:
        data: the trace, as ``trace.schema.json`` describes it.
        error: the error that ended the run, or None; of several runs, that of the last. Without its traceback, which
            would keep the run's tensors alive.
        result: what the function returned; of ``trace`` only.
    """

    def __init__(
        self,
        recordings: Sequence[recording.Recording],
        title: str | None = None,
        ask: str | None = None,
        heading: str | None = None,
        result: Any = None,
        key: Key = None,
    ) -> None:
        self.error = recordings[-1].error
        self.result = result
        self.data = {
            "schema": "stage/1",
            "title": title or TITLE,
            "ask": ask,
            "device": next((each.device for each in recordings if each.device != "cpu"), "cpu"),
            "compare": heading,
            "variants": apart([each.variant for each in recordings]),
        }
        name_key_steps(self.data, key)
        global _last
        _last = self.data

    @classmethod
    def of(cls, data: dict[str, Any]) -> Stage:
        """The stage that has this ``data``: one that was recorded and kept before.

        Raises:
            TraceError: for data that is not a stage's.
        """
        from memory_stage.trace.validation import validate  # a recorder has no need of it

        validate(data)
        shown = cls.__new__(cls)
        shown.error, shown.result, shown.data = None, None, data
        return shown

    def widget(self) -> Any:
        """The stage as an ``anywidget``, for a notebook with a kernel: set its ``trace`` to show another run.

        Raises:
            ImportError: without the packages anywidget and traitlets.
        """
        import anywidget
        import traitlets

        class StageWidget(anywidget.AnyWidget):
            _esm = picture.widget_source()
            trace = traitlets.Dict().tag(sync=True)

        return StageWidget(trace=self.data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stage as one HTML file that needs no other file and asks no host."""
        _write(path, self.data)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = page_script("stage.js", picture.script_source) + as_html(self.data)
        return {"text/plain": as_text(self.data), "text/html": page}


def save(path: str | os.PathLike[str], shown: Stage | None = None) -> None:
    """Write a stage, by default the one made last, as one HTML file that needs no other file and asks no host.

    A file of that name is written over. Any browser opens it, from a disk, too.

    Raises:
        ValueError: no stage has been made so far.
    """
    if shown is None and _last is None:
        raise ValueError("no stage has been made so far: run a %%stage cell first, or give the stage to save")
    if shown is not None and not isinstance(shown, Stage):
        raise TypeError(f"save takes a path and a Stage, not {type(shown).__name__}")
    _write(path, _last if shown is None else shown.data)  # type: ignore[arg-type]  # checked above


def _write(path: str | os.PathLike[str], data: dict[str, Any]) -> None:
    page = whole_page(data["title"], as_html(data), picture.script_source())
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


# ---------- making stages ----------


def run(
    source: str, namespace: dict[str, Any], *, file: str | None = None, engine: Engine | None = None, **settings: Any
) -> recording.Recording:
    """Run a program, record it and give it its verdict; see ``recording.run`` for the settings."""
    engine = engine or Router()
    with Ending() if has_minitensor() else contextlib.nullcontext() as ending:
        done = recording.run(source, namespace, file=file or f"<stage {next(_numbers)}>", engine=engine, **settings)
        if ending is not None and done.error is not None:
            ending.ended(done.error)
    failed = done.error is not None
    shared = None if failed else done.variant["verdict"]
    if ending is not None:
        done.variant["verdict"] = ending.words(failed, shared)
    else:
        done.variant["verdict"] = Verdict.RAISES.word if failed else shared
    policy = settings.get("policy") or engine.current_policy()
    if policy != DEFAULT_POLICY:
        done.variant["policy"] = policy
    return done


def run_and_let_go(source: str, namespace: dict[str, Any], **settings: Any) -> recording.Recording:
    """The same; the error has no traceback, which would keep the program's tensors alive.

    Raises:
        KeyboardInterrupt: who interrupts one variant means all.
    """
    done = run(source, namespace, **settings)
    error = done.error
    if isinstance(error, KeyboardInterrupt):
        raise error
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
    return done


def run_variant(source: str, namespace: dict[str, Any], *, policy: str | None, **settings: Any) -> recording.Recording:
    """Run one variant of several: all begin with the same policy and the same random numbers, and leave both alone."""
    engine = Router()
    with engine.same_random_numbers():
        return run_and_let_go(source, namespace, policy=policy or engine.current_policy(), engine=engine, **settings)


def record(
    source: str,
    namespace: dict[str, Any] | None = None,
    *,
    title: str | None = None,
    ask: str | None = None,
    ignore: Iterable[str] = (),
    policy: str | None = None,
    steps: int = recording.LIMIT,
    key: int | None = None,
) -> Stage:
    """Run a program given as text and show it.

    Args:
        source: the program; common indentation is taken away.
        namespace: its global names; a fresh one with ``mt`` by default.
        title: names the stage to a screen reader and in print.
        ask: a question to think about before stepping.
        ignore: names to leave out.
        policy: the in-place policy to run it under.
        steps: at most so many are recorded; the program runs on to its end.
        key: the step, counted from 1, that the stage opens with and that is printed; by default the first at which
            a write makes stale what was saved, is refused, or changes what another name sees, else the last write.

    Raises:
        SyntaxError: when it is no program. Its own error is shown at its step and kept in ``error``.
        ValueError: ``steps`` is no number of steps, or ``key`` no step.
    """
    limit = checked_steps(steps)
    done = run_and_let_go(_tidy(source), _names(namespace), ignore=frozenset(ignore), policy=policy, limit=limit)
    return Stage([done], title, ask, key=key)


def trace(
    function: Callable[..., Any],
    *arguments: Any,
    title: str | None = None,
    ask: str | None = None,
    steps: int = recording.LIMIT,
    key: int | None = None,
) -> Stage:
    """Call ``function(*arguments)`` and show its statements. ``result`` is what it returned.

    ``title``, ``ask``, ``steps`` and ``key`` are as in :func:`record`.
    """
    limit = checked_steps(steps)
    name = getattr(function, "__name__", "function")
    name = name if name.isidentifier() else "function"
    parameters = _parameter_names(function, len(arguments))
    namespace = {"__name__": "__main__", name: function, **dict(zip(parameters, arguments, strict=True))}
    source = f"result = {name}({', '.join(parameters)})"
    done = run_and_let_go(source, namespace, functions=(function,), limit=limit)
    return Stage([done], title or f"A call of {name}", ask, result=namespace.get("result"), key=key)


def compare(
    programs: Mapping[str, str] | str,
    *,
    title: str | None = None,
    ask: str | None = None,
    heading: str | None = None,
    policies: Mapping[str, str] | Sequence[str] | None = None,
    verdicts: Mapping[str, str] | None = None,
    namespace: Mapping[str, Any] | None = None,
    ignore: Iterable[str] = (),
    steps: int = recording.LIMIT,
    key: Key = None,
) -> Stage:
    """Run several programs, each with names of its own, and show them as variants of one stage.

    All begin with the same random numbers and, where none is given, with the policy in force; both stay as they were.

    The verdict on a variant is what ``explain`` says of its in-place operations (free, copies 8 bytes, refused,
    stale); without any, what its names share.

    Args:
        programs: label -> program; or one program, to be run under each of ``policies``.
        heading: of the table of variants, such as "kind of operation".
        policies: label -> in-place policy; or the policies themselves, which are then the labels.
        verdicts: label -> how it ends, in a few words, where the derived verdict does not say enough.
        namespace: names that every program finds, beside ``mt``.
        ignore, steps: as in :func:`record`, for each program.
        key: the label of the variant that opens and its step, counted from 1; or the step alone, of the variant that
            would open anyway: the first with the most telling step (see :func:`record`).

    Raises:
        SyntaxError: for a program that is none.
        ValueError: for a label that no program has, a policy that there is not, no number of steps, a key that is
            no step.
    """
    limit = checked_steps(steps)
    if isinstance(programs, str):
        if not policies or isinstance(policies, Mapping):
            raise ValueError("compare(program, policies=[...]) takes the policies to run one program under")
        if len(set(policies)) < len(policies):
            raise ValueError(f"policies names each once, not {', '.join(map(repr, policies))}")
        programs = dict.fromkeys(policies, programs)
    if not programs:
        raise ValueError("compare takes at least one program")
    for label in programs:
        if not isinstance(label, str) or not label.strip():
            raise ValueError(f"a label is text, not {label!r}")
    if policies is None:
        policies = {}
    elif not isinstance(policies, Mapping):
        policies = {policy: policy for policy in policies}
        heading = heading or "in-place policy"
    for what, given in (("policies", policies), ("verdicts", verdicts or {})):
        unknown = [label for label in given if label not in programs]
        if unknown:
            raise ValueError(f"{what} has the label {unknown[0]!r}; the programs are {', '.join(map(repr, programs))}")
    for policy in policies.values():
        if policy not in POLICIES:
            raise ValueError(f"{policy!r} is no in-place policy; they are {', '.join(map(repr, POLICIES))}")
    left_out = frozenset(ignore)
    sources = {label: _tidy(program) for label, program in programs.items()}
    for label, source in sources.items():
        check_syntax(label, source)
    recordings = []
    for number, (label, source) in enumerate(sources.items(), 1):
        done = run_variant(
            source,
            _names(dict(namespace or {})),
            id_=f"v{number}",
            label=label,
            policy=policies.get(label),
            ignore=left_out,
            limit=limit,
        )
        if verdicts and label in verdicts:
            done.variant["verdict"] = verdicts[label]
        recordings.append(done)
    return Stage(recordings, title, ask, heading or "variant", key=key)


def checked_steps(steps: int) -> int:
    """``steps``, if that is a number of steps to record.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise ValueError(f"steps is how many steps to record, a whole number from 1, not {steps!r}")
    return steps


def check_syntax(label: str, source: str, flags: int = 0) -> ast.Module:
    """The syntax tree of a variant; before any has run.

    Raises:
        SyntaxError: it is no program; the error names the variant.
    """
    try:
        return compile(source, f"<variant {label}>", "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
    except SyntaxError as error:
        error.msg = f"{error.msg} (in the variant {label!r})"
        raise


def _tidy(source: str) -> str:
    if not isinstance(source, str):
        raise TypeError(
            f"a program is given as text, not as a {type(source).__name__}; trace(function) takes functions"
        )
    return textwrap.dedent(source).strip("\n")


def _names(given: dict[str, Any] | None) -> dict[str, Any]:
    """A program's global names."""
    names = {} if given is None else given
    names.setdefault("__name__", "__main__")
    if has_minitensor():
        import minitensor

        names.setdefault("mt", minitensor)
    return names


def _parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return names + [f"argument_{i}" for i in range(len(names) + 1, count + 1)]
