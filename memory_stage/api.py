"""Record programs and show their memory step by step.

    %%stage --title "Normal operation" --ask "How many storages are there after line 2?"
    x = mt.ones([3])
    y = x + 1

This magic of ``book_kit`` runs a cell and shows how each statement changed memory. ``record`` does the same for a
program given as text, ``trace`` for a call of a function, and ``compare`` shows several programs as variants of one
stage. ``save`` writes a stage to a file.

A cell's output is one HTML element. The element contains the data, a picture and every sentence, so the output can be
read without JavaScript.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from memory_stage.engines.protocol import DEFAULT_POLICY, POLICIES, Engine
from memory_stage.engines.router import Router, has_minitensor
from memory_stage.explanation.report import Report, outcome
from memory_stage.explanation.step_reporter import StepReporter
from memory_stage.explanation.whole_run.explanation import Explanation, watching
from memory_stage.messages import ENGLISH, Language, Text, message
from memory_stage.messages import language as find_language
from memory_stage.messages.message import texts_of, write_in
from memory_stage.recorder import record as recording
from memory_stage.recorder.align_variants import align
from memory_stage.recorder.key_step import Key, name_key_steps
from memory_stage.recorder.program_source import check_syntax, dedented, parameter_names
from memory_stage.recorder.window import checked_steps
from memory_stage.sentences.sentences import leave_out_versions
from memory_stage.web import picture
from memory_stage.web.embed import page_assets, whole_page
from memory_stage.web.static_html import as_html, as_text

if has_minitensor():
    from memory_stage.explanation.minitensor.listener import Listener

TITLE = message("What the program does to memory")

#: Headings for the table of variants.
BY_POLICY = message("in-place policy")
BY_VARIANT = message("variant")

MOST_STEPS = 10_000  # the largest number of steps that `explain` records

_numbers = itertools.count(1)

DEPTHS = ("memory", "tensors", "history")

_last: dict[str, Any] | None = None  # the data of the latest stage, for ``save``

_depth: str | None = None  # the depth of stages made without an argument ``depth``; set by :func:`set_depth`


class Stage:
    """One or more recorded runs, ready to be shown.

    Attributes:
        data: the trace, in the form that ``trace.schema.json`` describes.
        error: the error that ended the run, or None; for several runs, the error of the last. It has no traceback,
            which would keep the run's tensors alive.
        result: the result of the function that ``trace`` called; None for other stages.
    """

    def __init__(
        self,
        recordings: Sequence[recording.RecordedRun],
        title: Text | None = None,
        ask: str | None = None,
        heading: Text | None = None,
        result: Any = None,
        key: Key = None,
        depth: str | None = None,
        language: str | None = None,
    ) -> None:
        spoken = find_language(language)
        depth = _depth if depth is None else checked_depth(depth)
        self.error = recordings[-1].error
        self.result = result
        self.data: dict[str, Any] = {
            "schema": "stage/1",
            "title": title or TITLE,
            "ask": ask,
            "device": next((each.device for each in recordings if each.device != "cpu"), "cpu"),
            "compare": heading,
            "variants": align([each.variant for each in recordings]),
        }
        if depth is not None:
            self.data["depth"] = depth
        name_key_steps(self.data, key)
        self._texts = texts_of([self.data], ("title", "compare")) + [text for each in recordings for text in each.texts]
        self._write_in(spoken)
        global _last
        _last = self.data

    @classmethod
    def of(cls, data: dict[str, Any]) -> Stage:
        """Return a stage that shows ``data``, which was recorded earlier.

        Raises:
            TraceError: if ``data`` does not describe a stage.
        """
        from memory_stage.trace.validation import validate  # imported late, because recording does not need it

        validate(data)
        shown = cls.__new__(cls)
        shown.error, shown.result, shown.data, shown._texts = None, None, data, []
        return shown

    def translated(self, language: str) -> Stage:
        """Return the same recording with its sentences in another language.

        Raises:
            ValueError: if there is no such language, or if the stage was made by :meth:`of`, from data that has its
                sentences in one language only.
        """
        spoken = find_language(language)
        if not self._texts:
            raise ValueError("translated takes a stage that was recorded by this program, not one made of data")
        shown = Stage.__new__(Stage)
        shown.error, shown.result = self.error, self.result
        shown.data, shown._texts = copy.deepcopy((self.data, self._texts))
        shown._write_in(spoken)
        return shown

    @property
    def _language(self) -> str:
        return self.data.get("language", "en")

    def _write_in(self, language: Language) -> None:
        write_in(language, self._texts)
        if self.data.get("depth") == "memory":
            for variant in self.data["variants"]:
                leave_out_versions(variant["steps"], language)
        self.data.pop("language", None)
        if language is not ENGLISH:
            self.data["language"] = language.tag

    def widget(self) -> Any:
        """Return an ``anywidget`` for a notebook with a kernel. Assign to its ``trace`` to show another run.

        Raises:
            ImportError: if the packages anywidget and traitlets are not installed.
        """
        import anywidget
        import traitlets

        class StageWidget(anywidget.AnyWidget):
            _esm = picture.widget_source(self._language)
            trace = traitlets.Dict().tag(sync=True)

        return StageWidget(trace=self.data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stage as one HTML file that loads nothing from other files or hosts."""
        _write(path, self.data)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = page_assets(*picture.scripts(self._language), package="memory_stage.web") + as_html(self.data)
        return {"text/plain": as_text(self.data), "text/html": page}


def save(path: str | os.PathLike[str], shown: Stage | None = None) -> None:
    """Write a stage, by default the latest, as one HTML file that loads nothing from other files or hosts.

    An existing file is overwritten. Any browser can open the file without a server.

    Raises:
        TypeError: if ``shown`` is not a Stage.
        ValueError: if there is no stage yet.
    """
    if shown is None and _last is None:
        raise ValueError("no stage has been made so far: record a program first, or give the stage to save")
    if shown is not None and not isinstance(shown, Stage):
        raise TypeError(f"save takes a path and a Stage, not {type(shown).__name__}")
    _write(path, _last if shown is None else shown.data)  # type: ignore[arg-type]  # checked above


def _write(path: str | os.PathLike[str], data: dict[str, Any]) -> None:
    language = data.get("language", "en")
    page = whole_page(data["title"], as_html(data), picture.script_source(language), language)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


# ---------- functions that make stages ----------


def set_depth(depth: str | None) -> None:
    """Set how much a stage shows at first, for all stages made from now on without an argument ``depth``.

    Args:
        depth: ``"memory"``: names, storages with their cells, and which cells each tensor reads; ``"tensors"``: also
            shape, strides, offset and version; ``"history"``: also operations, what they saved, and gradients; None:
            everything. A reader can choose another depth under *Details*.

    Raises:
        ValueError: if there is no such depth.
    """
    global _depth
    _depth = None if depth is None else checked_depth(depth)


def checked_depth(depth: str) -> str:
    """Return ``depth``; raise ValueError if there is no such depth."""
    if depth not in DEPTHS:
        raise ValueError(f"depth must be one of {', '.join(map(repr, DEPTHS))}, not {depth!r}")
    return depth


def _checked_limit(steps: int, depth: str | None, language: str | None) -> int:
    """Return ``steps``; raise ValueError if it is no whole number from 1, or if there is no such depth or language."""
    if depth is not None:
        checked_depth(depth)
    find_language(language)
    return checked_steps(steps)


def run(
    source: str, namespace: dict[str, Any], *, file: str | None = None, engine: Engine | None = None, **settings: Any
) -> recording.RecordedRun:
    """Record a run of a program, and sum it up in a verdict.

    ``memory_stage.recorder.record.run`` describes the settings.
    """
    engine = engine or Router()
    listener = Listener(while_recorded=True) if has_minitensor() else None
    with listener or contextlib.nullcontext():
        done = recording.run(source, namespace, file=file or f"<stage {next(_numbers)}>", engine=engine, **settings)
        if listener is not None and done.error is not None:
            listener.ended(done.error)
    failed = done.error is not None
    done.set_verdict(outcome(listener.report if listener else Report(), failed, None if failed else done.verdict))
    policy = settings.get("policy") or engine.current_policy()
    if policy != DEFAULT_POLICY:
        done.variant["policy"] = policy
    return done


def run_and_release(source: str, namespace: dict[str, Any], **settings: Any) -> recording.RecordedRun:
    """Record a run as :func:`run` does, and drop the error's traceback, which would keep the program's tensors alive.

    Raises:
        KeyboardInterrupt: if the run is interrupted, so that ``compare`` runs no further variant.
    """
    done = _without_traceback(run(source, namespace, **settings))
    if isinstance(done.error, KeyboardInterrupt):
        raise done.error
    return done


def _without_traceback(done: recording.RecordedRun) -> recording.RecordedRun:
    error = None if isinstance(done.error, KeyboardInterrupt) else done.error
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
    return done


def run_variant(
    source: str, namespace: dict[str, Any], *, policy: str | None, **settings: Any
) -> recording.RecordedRun:
    """Run one of several variants, by default under the current policy, and restore the random generators."""
    engine = Router()
    with engine.same_random_numbers():
        return run_and_release(source, namespace, policy=policy or engine.current_policy(), engine=engine, **settings)


def record(
    source: str,
    namespace: dict[str, Any] | None = None,
    *,
    title: Text | None = None,
    ask: str | None = None,
    ignore: Iterable[str] = (),
    policy: str | None = None,
    steps: int = recording.LIMIT,
    key: int | None = None,
    depth: str | None = None,
    language: str | None = None,
) -> Stage:
    """Run a program given as text and show it.

    Args:
        source: the program; common indentation is removed.
        namespace: the program's global names, to which ``mt`` is added if minitensor is installed; by default a new
            dict.
        title: the name of the stage for a screen reader and in print.
        ask: a question to think about before stepping.
        ignore: names that the stage leaves out.
        policy: the in-place policy during the run; by default the current one.
        steps: the largest number of steps to record. After that the program continues unrecorded.
        key: the step, counted from 1, that the stage shows first and in print. By default it is the first step
            with an error, or with a write that makes a saved tensor stale or changes the values of another name; if
            there is none, the last write.
        depth: how much the picture shows at first: ``"memory"``, ``"tensors"`` or ``"history"``; by default the depth
            that :func:`set_depth` has set, or everything.
        language: the language of the sentences and of the words around the picture, ``"en"`` or ``"zh"``; by default
            the one that :func:`set_language` has set, or English.

    Raises:
        SyntaxError: if ``source`` cannot be compiled. An error of the running program is shown at its step and is in
            ``error``.
        ValueError: if ``steps`` is not a whole number from 1, or there is no such step ``key``, ``depth`` or
            ``language``.
    """
    limit = _checked_limit(steps, depth, language)
    done = run_and_release(dedented(source), _names(namespace), ignore=frozenset(ignore), policy=policy, limit=limit)
    return Stage([done], title, ask, key=key, depth=depth, language=language)


def trace(
    function: Callable[..., Any],
    *arguments: Any,
    title: str | None = None,
    ask: str | None = None,
    steps: int = recording.LIMIT,
    key: int | None = None,
    depth: str | None = None,
    language: str | None = None,
) -> Stage:
    """Call ``function(*arguments)`` and show its statements. The stage's ``result`` is the result of the function.

    ``title``, ``ask``, ``steps``, ``key``, ``depth`` and ``language`` are as in :func:`record`.
    """
    limit = _checked_limit(steps, depth, language)
    name = getattr(function, "__name__", "function")
    name = name if name.isidentifier() else "function"
    parameters = parameter_names(function, len(arguments))
    namespace = {"__name__": "__main__", name: function, **dict(zip(parameters, arguments, strict=True))}
    done = run_and_release(f"result = {name}({', '.join(parameters)})", namespace, functions=(function,), limit=limit)
    title_or_call = title or message("A call of {function}", function=name)
    return Stage([done], title_or_call, ask, result=namespace.get("result"), key=key, depth=depth, language=language)


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
    depth: str | None = None,
    language: str | None = None,
) -> Stage:
    """Run several programs, each in its own namespace, and show them as variants of one stage.

    All variants start with the same random numbers and, if no policy is given, with the current policy. Both are
    restored at the end.

    The verdict on a variant sums up the report of its in-place operations, such as "copies 8 bytes" or "refused".
    Without in-place operations it says if two variables share a tensor or a storage.

    Args:
        programs: label -> program; or one program, which is run under each of ``policies``.
        heading: the heading of the table of variants, such as "kind of operation".
        policies: label -> in-place policy; or a list of policies, which are then the labels.
        verdicts: label -> a few words that replace the derived verdict.
        namespace: global names that every program gets in addition to ``mt``.
        ignore, steps: as in :func:`record`, for each program.
        depth, language: as in :func:`record`.
        key: the label of the variant to open and its step, counted from 1; or only a step of the variant that is opened
            by default, the first one with the most serious key step (see :func:`record`).

    Raises:
        SyntaxError: if a program cannot be compiled.
        ValueError: if a label belongs to no program, a policy does not exist, ``steps`` is not a whole number from 1,
            or there is no such step ``key``, ``depth`` or ``language``.
    """
    limit = _checked_limit(steps, depth, language)
    if isinstance(programs, str):
        if not policies or isinstance(policies, Mapping):
            raise ValueError("compare with one program needs a list of policies: compare(program, policies=[...])")
        if len(set(policies)) < len(policies):
            raise ValueError(f"policies must have each policy once, not {', '.join(map(repr, policies))}")
        programs = dict.fromkeys(policies, programs)
    if not programs:
        raise ValueError("compare takes at least one program")
    for label in programs:
        if not isinstance(label, str) or not label.strip():
            raise ValueError(f"a label must be a str that is not blank, not {label!r}")
    title_of_table: Text | None = heading
    if policies is None:
        policies = {}
    elif not isinstance(policies, Mapping):
        policies = {policy: policy for policy in policies}
        title_of_table = title_of_table or BY_POLICY
    for name, labels in (("policies", policies), ("verdicts", verdicts or {})):
        unknown = [label for label in labels if label not in programs]
        if unknown:
            raise ValueError(
                f"{name} has the label {unknown[0]!r}, but the programs are {', '.join(map(repr, programs))}"
            )
    for policy in policies.values():
        if policy not in POLICIES:
            raise ValueError(f"a policy must be one of {', '.join(map(repr, POLICIES))}, not {policy!r}")
    left_out = frozenset(ignore)
    sources = {label: dedented(program) for label, program in programs.items()}
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
            done.set_verdict(verdicts[label])
        recordings.append(done)
    return Stage(recordings, title, ask, title_of_table or BY_VARIANT, key=key, depth=depth, language=language)


@overload
def explain(*, language: str | None = None) -> Explanation: ...


@overload
def explain(
    function: Callable[..., Any], /, *args: Any, catch: bool = False, language: str | None = None, **kwargs: Any
) -> Report: ...


def explain(
    function: Callable[..., Any] | None = None,
    /,
    *args: Any,
    catch: bool = False,
    language: str | None = None,
    **kwargs: Any,
) -> Report | Explanation:
    """Explain the faults of a program.

    ``with explain() as why:`` watches a block of a program, of any length, and ``print(why)`` explains its faults
    (:class:`~memory_stage.explanation.whole_run.explanation.Explanation`). ``@explain()`` above a function watches each
    of its calls, and prints new faults when a call ends.

    With a function, call it, record the call, and report the in-place operations of PyTorch and Paddle in it. For
    minitensor, ``minitensor.explain`` costs less.

    Args:
        function: the program as a function. Without it, a context manager is returned.
        catch: True to return the report, with the error in ``report.error``, if the program raises an error.
        language: the language of the report, ``"en"`` or ``"zh"``; by default the one that :func:`set_language` has
            set, or English.

    Raises:
        ImportError: without a function, if neither PyTorch nor Paddle is installed.
        TypeError: if there are arguments and no function.
        ValueError: if there is no such language.
        Any error of the program; if ``catch`` is True, only an error that is no ``Exception``, such as SystemExit. The
            attribute ``explained`` of the error is the report.
    """
    if function is None:
        if args or kwargs or catch:
            raise TypeError(
                "explain() used as a context manager takes only language; to call a function with arguments, write "
                "explain(function, ...)"
            )
        return watching(language=language)
    chosen = find_language(language)
    reporter = StepReporter(chosen)
    names = {"__name__": "__main__", "f": function, "args": args, "kwargs": kwargs}
    done = _without_traceback(
        run("f(*args, **kwargs)", names, functions=(function,), limit=MOST_STEPS, on_step=reporter.on_step)
    )
    write_in(chosen, done.texts)
    report = reporter.report(done.variant)
    if done.error is not None and not (catch and isinstance(done.error, Exception)):
        done.error.explained = report  # type: ignore[attr-defined]  # a tool finds the report there
        raise done.error
    report.error = done.error
    return report


def _names(namespace: dict[str, Any] | None) -> dict[str, Any]:
    """Return a program's global names, with ``mt`` if minitensor is installed."""
    names = {} if namespace is None else namespace
    names.setdefault("__name__", "__main__")
    if has_minitensor():
        import minitensor

        names.setdefault("mt", minitensor)
    return names
