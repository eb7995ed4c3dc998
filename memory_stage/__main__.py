"""Run a program and write its stage, one HTML file that any browser opens, or explain the faults of the whole run.

    python -m memory_stage explain program.py [arguments ...]
    python -m memory_stage program.py [arguments ...]
    python -m memory_stage --explain --output why.html program.py --its-own 3

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
from memory_stage.recorder.record import LIMIT, RecordedRun
from memory_stage.recorder.script import REFUSED, ScriptError, as_main, exit_status, read_script

if has_minitensor():
    from memory_stage.explanation.minitensor import Listener


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: of the command line; by default those of this process.

    Returns:
        The exit status of the program, or 2 if it could not be run or the file could not be written.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["explain"]:
        return command.main(given[1:])
    options = _options().parse_args(given)
    try:
        program, source = read_script(options.program)
    except ScriptError as error:
        return _say(str(error), REFUSED)
    output = Path(options.output or f"{program.stem}.stage.html")
    listener = Listener() if options.explain and has_minitensor() else None
    reporter = StepReporter() if options.explain else None
    with as_main(program, [options.program, *options.arguments]) as names:
        done = _run(source, names, program, listener, reporter, policy=options.policy, limit=options.steps)
        status = exit_status(done.error)
    if reporter is not None:
        report = None if listener is None else listener.report
        if report is None or (done.frameworks and not report.totals.operations):
            report = reporter.report(done.variant)
        print(report, file=sys.stderr)
    shown = api.Stage([done], options.title or program.name)
    steps = len(done.variant["steps"])
    try:
        shown.save(output)
    except OSError as error:
        return _say(f"{output} cannot be written: {error}", REFUSED)
    made = {event["do"] for step in done.variant["steps"] for event in step["events"]}
    if "storage" not in made:
        _say("the program made no tensor of minitensor, PyTorch or Paddle; tensors of others are not recorded", status)
    return _say(f"{output}: {steps} step{'' if steps == 1 else 's'}", status)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m memory_stage", description="Run a program and leave its stage, as one HTML file."
    )
    parser.add_argument("--output", metavar="FILE", help="the file to write; by default NAME.stage.html, of NAME.py")
    parser.add_argument("--title", help="names the stage; by default the name of the program's file")
    parser.add_argument("--explain", action="store_true", help="print what each in-place operation did, and what to do")
    parser.add_argument("--policy", choices=list(POLICIES), help="the in-place policy to run the program under")
    parser.add_argument("--steps", type=_steps, default=LIMIT, help=f"record at most so many, by default {LIMIT}")
    parser.add_argument("program", help="a file of Python")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the program")
    return parser


def _steps(text: str) -> int:
    try:
        return api.checked_steps(int(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"a whole number from 1, not {text!r}") from None


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
) -> RecordedRun:
    """Record the program, print its output as it runs, and add its error to the report."""
    with listener or contextlib.nullcontext():
        on_step = None if reporter is None else reporter.on_step
        done = api.run(source, names, file=str(program), policy=policy, limit=limit, echo=True, on_step=on_step)
        if listener is not None and done.error is not None:
            listener.ended(done.error)
    return done


if __name__ == "__main__":
    sys.exit(main())
