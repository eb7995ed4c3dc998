"""The stage: memory, step by step.

    %%stage --title "Normal operation" --ask "How many storages are there after line 2?"
    x = mt.ones([3])
    y = x + 1

The cell magic runs a cell and shows what each statement did to memory. ``record`` does the same for a program given
as text, ``trace`` for a call of a function, and ``compare`` shows several programs as variants of one stage.

What leaves the cell is one HTML element with its data, a picture and every sentence inside it, so it can be read
without JavaScript. Text of the program never becomes markup.
"""

from __future__ import annotations

import html
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from minitensor.notebook import picture
from minitensor.notebook.embed import as_data, page_script, prose
from minitensor.notebook.recording import record as recording

TITLE = "What the program does to memory"

_numbers = itertools.count(1)


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
    ) -> None:
        self.error = recordings[-1].error
        self.result = result
        self.data = {
            "schema": "stage/1",
            "title": title or TITLE,
            "ask": ask,
            "device": next((each.device for each in recordings if each.device != "cpu"), "cpu"),
            "compare": heading,
            "variants": [each.variant for each in recordings],
        }

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

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = page_script("stage.js", picture.script_source) + as_html(self.data)
        return {"text/plain": as_text(self.data), "text/html": page}


# ---------- making stages ----------


def _run(source: str, namespace: dict[str, Any], **settings: Any) -> recording.Recording:
    """Run a program and record it; see ``record.run``. Its error has no traceback, which would keep tensors alive."""
    done = recording.run(source, namespace, file=f"<stage {next(_numbers)}>", **settings)
    error = done.error
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
    return done


def record(
    source: str,
    namespace: dict[str, Any] | None = None,
    *,
    title: str | None = None,
    ask: str | None = None,
    ignore: Iterable[str] = (),
    policy: str | None = None,
) -> Stage:
    """Run a program given as text and show it.

    Args:
        source: the program; common indentation is taken away.
        namespace: its global names; a fresh one with ``mt`` by default.
        title: names the stage to a screen reader and in print.
        ask: a question to think about before stepping.
        ignore: names to leave out.
        policy: the in-place policy to run it under.

    Raises:
        SyntaxError: when it is no program. Its own error is shown at its step and kept in ``error``.
    """
    done = _run(_tidy(source), _names(namespace), ignore=frozenset(ignore), policy=policy)
    return Stage([done], title, ask)


def trace(function: Callable[..., Any], *arguments: Any, title: str | None = None, ask: str | None = None) -> Stage:
    """Call ``function(*arguments)`` and show its statements. ``result`` is what it returned."""
    name = getattr(function, "__name__", "function")
    name = name if name.isidentifier() else "function"
    parameters = _parameter_names(function, len(arguments))
    namespace = {"__name__": "__main__", name: function, **dict(zip(parameters, arguments, strict=True))}
    source = f"result = {name}({', '.join(parameters)})"
    done = _run(source, namespace, functions=(function,))
    return Stage([done], title or f"A call of {name}", ask, result=namespace.get("result"))


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
) -> Stage:
    """Run several programs, each with names of its own, and show them as variants of one stage.

    Args:
        programs: label -> program; or one program, to be run under each of ``policies``.
        heading: of the table of variants, such as "kind of operation".
        policies: label -> in-place policy; or the policies themselves, which are then the labels.
        verdicts: label -> how it ends, in a few words, where the derived verdict does not say enough.
        namespace: names that every program finds, beside ``mt``.

    Raises:
        SyntaxError: for a program that is none.
        ValueError: for a label that no program has.
    """
    if isinstance(programs, str):
        if not policies or isinstance(policies, Mapping):
            raise ValueError("compare(program, policies=[...]) takes the policies to run one program under")
        programs = dict.fromkeys(policies, programs)
    if not programs:
        raise ValueError("compare takes at least one program")
    if policies is None:
        policies = {}
    elif not isinstance(policies, Mapping):
        policies = {policy: policy for policy in policies}
        heading = heading or "in-place policy"
    for what, given in (("policies", policies), ("verdicts", verdicts or {})):
        unknown = [label for label in given if label not in programs]
        if unknown:
            raise ValueError(f"{what} has the label {unknown[0]!r}; the programs are {', '.join(map(repr, programs))}")
    recordings = []
    for number, (label, source) in enumerate(programs.items(), 1):
        done = _run(
            _tidy(source),
            _names(dict(namespace or {})),
            id_=f"v{number}",
            label=label,
            policy=policies.get(label),
            ignore=frozenset(ignore),
        )
        if verdicts and label in verdicts:
            done.variant["verdict"] = verdicts[label]
        recordings.append(done)
    return Stage(recordings, title, ask, heading or "variant")


def _tidy(source: str) -> str:
    return textwrap.dedent(source).strip("\n")


def _names(given: dict[str, Any] | None) -> dict[str, Any]:
    """A program's global names."""
    import minitensor

    names = {} if given is None else given
    names.setdefault("__name__", "__main__")
    names.setdefault("mt", minitensor)
    return names


def _parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return names + [f"argument_{i}" for i in range(len(names) + 1, count + 1)]


# ---------- as text and as HTML ----------


def as_text(trace: dict[str, Any]) -> str:
    """Every sentence, for a terminal."""
    parts = [f"Stage: {trace['title']}"]
    if trace["ask"]:
        parts.append(trace["ask"])
    if trace["device"] != "cpu":
        parts.append(_where(trace["device"]))
    for variant in trace["variants"]:
        if variant["label"]:
            parts.append(f"\n{variant['label']}" + (f" ({variant['verdict']})" if variant["verdict"] else ""))
        width = len(str(len(variant["code"])))
        parts += [f"  {number:>{width}}  {line}" for number, line in enumerate(variant["code"], 1)]
        for number, step in enumerate(variant["steps"], 1):
            parts.append(f"{number:>3}. {step['say']} [{step['allocated']:,} B]")
            parts += [f"     | {line}" for line in step.get("out", "").splitlines()]
            parts += [f"     ! {line}" for error in _errors(step) for line in error.splitlines()]
        if variant["truncated"]:
            parts.append(variant["truncated"])
    return "\n".join(parts)


def as_html(trace: dict[str, Any]) -> str:
    """The element with its data and, inside it, what is shown without JavaScript."""
    return (
        '<memory-stage class="mathjax_ignore">\n'
        f'<script type="application/json">{as_data(trace)}</script>\n'
        f"{_fallback(trace)}</memory-stage>"
    )


def _fallback(trace: dict[str, Any]) -> str:
    parts = ['<div class="stage-fallback">\n', f"<p><strong>{html.escape(trace['title'])}</strong></p>\n"]
    if trace["ask"]:
        parts.append(f"<p>{prose(trace['ask'])}</p>\n")
    if trace["device"] != "cpu":
        parts.append(f"<p>{html.escape(_where(trace['device']))}</p>\n")
    for number, variant in enumerate(trace["variants"]):
        if variant["label"]:
            verdict = f": {html.escape(variant['verdict'])}" if variant["verdict"] else ""
            parts.append(f"<p><strong>{html.escape(variant['label'])}</strong>{verdict}</p>\n")
        parts.append(_picture(trace, number))
        parts.append(f"<pre><code>{html.escape(chr(10).join(variant['code']))}</code></pre>\n<ol>\n")
        parts += [_step(step) for step in variant["steps"]]
        parts.append("</ol>\n")
        if variant["truncated"]:
            parts.append(f"<p>{html.escape(variant['truncated'])}</p>\n")
    return "".join([*parts, "</div>\n"])


def _where(device: str) -> str:
    return f"Memory of {device}{', a simulated GPU' if device.endswith(':sim') else ''}."


def _step(step: dict[str, Any]) -> str:
    printed = f"<pre>{html.escape(step['out'])}</pre>" if "out" in step else ""
    errors = "".join(f"<pre>{html.escape(error)}</pre>" for error in _errors(step))
    return f"<li>{prose(step['say'])}{printed}{errors}</li>\n"


def _errors(step: dict[str, Any]) -> list[str]:
    return [event["text"] for event in step["events"] if event["do"] == "raise"]


def _picture(trace: dict[str, Any], variant: int) -> str:
    """The drawing of the step that says most; nothing where there is no V8 to draw with."""
    if not picture.available():
        return ""
    drawn = picture.svg(trace, variant, telling_step(trace["variants"][variant]))
    # A page's Markdown reader would end the HTML at an empty line.
    return re.sub(r"\n\s*\n", "\n", drawn) + "\n"


def telling_step(variant: dict[str, Any]) -> int:
    """The step to show when only one can be: the last with most stale saved tensors, most copies, most names."""
    stale: set[str] = set()
    copied: set[str] = set()
    names: set[str] = set()
    best, chosen = (-1, -1, -1), 0
    for number, step in enumerate([{"events": variant.get("before", [])}, *variant["steps"]]):
        for event in step["events"]:
            do = event["do"]
            if do == "stale":
                stale.update(event["ids"])
            elif do == "preserve":
                copied.add(event["id"])
            elif do == "release":
                stale.difference_update(event["ids"])
                copied.difference_update(event["ids"])
            elif do == "name":
                names.add(event["name"])
            elif do == "unname":
                names.discard(event["name"])
        now = len(stale), len(copied), len(names)
        if number and now >= best:
            best, chosen = now, number - 1
    return chosen
