"""Run a program. Write its stage as an HTML file for any browser, or explain the faults of the whole run.

    python -m memory_stage explain program.py [arguments ...]
    python -m memory_stage program.py [arguments ...]
    python -m memory_stage --explain --output why.html program.py --its-own 3
    python -m memory_stage --line 14 --iteration 1500 program.py

The program runs as ``python program.py [arguments ...]`` would run it: its arguments, its output, its traceback and its
exit status are the same. The command's own options precede the program's name. Operations on tensors of PyTorch, Paddle
and minitensor are recorded.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from memory_stage import api
from memory_stage.engines.protocol import POLICIES
from memory_stage.engines.router import has_minitensor
from memory_stage.explanation.step_reporter import StepReporter
from memory_stage.explanation.whole_run import command
from memory_stage.explanation.whole_run.one_screen import with_rank
from memory_stage.messages import default_language, message, plural, said, set_language
from memory_stage.messages.catalogues import codes
from memory_stage.messages.message import write_in
from memory_stage.recorder.key_step import step_of_line
from memory_stage.recorder.record import LIMIT, RecordedRun
from memory_stage.recorder.script import REFUSED, ScriptError, as_main, read_script, report_error
from memory_stage.recorder.window import RecordingWindow, parsed_number, parsed_steps, window_of

#: The largest number of steps for ``--steps FROM:TO``. One statement may have several steps, for example in backward.
MOST_WINDOW_STEPS = 3_000

if has_minitensor():
    from memory_stage.explanation.minitensor import Listener


_STEPS = f"record at most N steps, by default {LIMIT}; or the statements FROM to TO of the run, counted as they run"
_LINE = "record from the first time that this line of the program runs; with --steps FROM:TO, show this line first"
_ITERATION = """\
record this iteration of the innermost loop around --line, counted from 1 over the whole run; without --line, of
the first loop that reaches this iteration
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the arguments of the command line; by default those of this process.

    Returns:
        The exit status of the program, or 2 if it could not be run or the file could not be written.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] == ["explain"]:
        return command.main(arguments[1:])
    options = _options().parse_args(arguments)
    if options.language is not None:
        set_language(options.language)
    try:
        program, source = read_script(options.program)
        part = options.steps if isinstance(options.steps, tuple) else None
        window = window_of(part, options.line, options.iteration, options.end_after_steps, source, str(program))
    except (ScriptError, ValueError) as error:
        return _say(str(error), REFUSED)
    output = with_rank(Path(options.output or f"{program.stem}.stage.html"))
    limit = options.steps if part is None else MOST_WINDOW_STEPS
    listener = Listener() if options.explain and has_minitensor() else None
    reporter = StepReporter() if options.explain else None
    with as_main(program, [options.program, *options.arguments]) as names:
        done = _run(source, names, program, listener, reporter, options.policy, limit, window)
        status = report_error(done.error)
    if reporter is not None:
        report = None if listener is None else listener.report
        if report is None or (done.frameworks and not report.totals.operations):
            write_in(default_language(), done.texts)  # the report quotes the sentence about the end of the recording
            report = reporter.report(done.variant)
        print(report, file=sys.stderr)
    key = None if window is None or options.line is None else step_of_line(done.variant, options.line)
    shown = api.Stage([done], options.title or program.name, key=key)
    steps = len(done.variant["steps"])
    try:
        shown.save(output)
    except OSError as error:
        return _say(f"{output} cannot be written: {error}", REFUSED)
    events = [done.variant.get("before", ()), *(step["events"] for step in done.variant["steps"])]
    if all(event["do"] != "storage" for each in events for event in each):
        untouched = message(
            "the program made no tensor of minitensor, PyTorch or Paddle; tensors of other libraries are not recorded"
        )
        _say(said(untouched), status)
    return _say(said(plural("{output}: {count} step", "{output}: {count} steps", steps, output=str(output))), status)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m memory_stage", description="Run a program and write its stage to an HTML file."
    )
    parser.add_argument("--output", metavar="FILE", help="the file to write; by default NAME.stage.html for NAME.py")
    parser.add_argument("--title", help="the name of the stage; by default that of the program's file")
    parser.add_argument("--explain", action="store_true", help="print what each in-place operation did, and what to do")
    parser.add_argument("--language", choices=codes(), help="the language of the stage and of the report of --explain")
    parser.add_argument("--policy", choices=list(POLICIES), help="the in-place policy during the run")
    parser.add_argument("--steps", metavar="N|FROM:TO", type=parsed_steps, default=LIMIT, help=_STEPS)
    parser.add_argument("--line", metavar="N", type=parsed_number, help=_LINE)
    parser.add_argument("--iteration", metavar="N", type=parsed_number, help=_ITERATION)
    parser.add_argument("--end-after-steps", action="store_true", help="end the program after the step TO of --steps")
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the arguments of the program")
    return parser


def _say(text: str, status: int) -> int:
    print(text, file=sys.stderr)
    return status


def _run(
    source: str,
    names: dict[str, object],
    program: Path,
    listener: Listener | None,
    reporter: StepReporter | None,
    policy: str | None,
    limit: int,
    window: RecordingWindow | None,
) -> RecordedRun:
    """Record the program, print its output while it runs, and add its error to the report."""
    with listener or contextlib.nullcontext():
        on_step = None if reporter is None else reporter.on_step
        done = api.run(
            source, names, file=str(program), policy=policy, limit=limit, echo=True, on_step=on_step, window=window
        )
        if listener is not None and done.error is not None:
            listener.ended(done.error)
    return done


if __name__ == "__main__":
    sys.exit(main())
