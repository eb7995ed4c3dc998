"""The command that explains a program: ``memory-stage explain program.py [arguments ...]``.

To draw the stage of the steps around a fault, it runs the program a second time and records only these steps.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from memory_stage.explanation.whole_run.explanation import Explanation, watching
from memory_stage.explanation.whole_run.faults import Fault
from memory_stage.explanation.whole_run.one_screen import (
    are_colours_wanted,
    coloured,
    count_of,
    heading,
    rank_words,
    with_rank,
)
from memory_stage.messages import Language, Text, message, render, said, speaking
from memory_stage.messages.catalogues import codes
from memory_stage.recorder.counted_run import CountedRun
from memory_stage.recorder.script import REFUSED, ScriptError, as_main, read_script, report_error
from memory_stage.recorder.window import parsed_number, parsed_part, window_of
from memory_stage.watch.lines import ProgramLine

#: Exit status of a program that ran to its end with wrong gradients.
SILENTLY_WRONG = 3

_DESCRIPTION = """\
Run a program of PyTorch or Paddle and explain, at the end, which line overwrote a tensor that a backward pass needed,
and other faults of in-place operations. The program runs as "python program.py" would run it, with the same output;
the explanation goes to standard error.
"""
_STATUS = "The exit status is the program's; if that is 0 and gradients were silently wrong, it is 3."
_STAGE = """\
also draw the memory of the steps around the first fault, as an HTML file. The program runs a second time for this, up
to these steps, with its output hidden: do not use this option for a program that must not run twice
"""
_STEPS = "let --stage draw statements FROM to TO of the run, counted as they run, whether or not there is a fault"
_LANGUAGE = "write the explanation in this language; without it, in that of MEMORY_STAGE_LANGUAGE or in English"
_LINE = "let --stage draw the run from the first time that this line runs; with --steps, open the stage there"
_ITERATION = "let --stage draw this iteration of the innermost loop around --line, counted from 1 over the whole run"


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Args:
        arguments: the arguments of the command line after the word ``explain``.

    Returns:
        The exit status of the program; 3 if that is 0 and gradients were silently wrong; 2 if the program did not run.
    """
    options = _options().parse_args(arguments)
    if options.stage and rank_words():
        return _refuse(
            "--stage runs the program a second time, which one process of a distributed run cannot do alone. Run all "
            "processes with `memory_stage --steps FROM:TO`, as in `torchrun ... -m memory_stage --steps 5000:5040 "
            "program.py`"
        )
    chosen = _chosen_part(options)
    if chosen and not options.stage:
        return _refuse("--steps, --line and --iteration choose what --stage FILE draws; add --stage FILE")
    try:
        program, source = read_script(options.program)
        window_of(options.steps, options.line, options.iteration, False, source, str(program))
        explanation = watching(language=options.language)
    except (ScriptError, ValueError, ImportError) as error:
        return _refuse(str(error))
    if options.eager:
        _run_uncompiled()
    failure: BaseException | None = None
    process = os.getpid()
    with as_main(program, [options.program, *options.arguments]) as names:
        explanation.variables = names
        window = WindowOfFault(source, str(program), explanation.nodes_made) if options.stage else None
        explanation.on_fault = None if window is None else window.mark
        try:
            with explanation:
                if window is not None:
                    window.run(names)
                else:
                    exec(compile(source, str(program), "exec", dont_inherit=True), names)
        except BaseException as error:
            failure = error.with_traceback(_of_program(error.__traceback__))
        status = report_error(failure)
    if os.getpid() != process:  # a process that the program has forked
        return status
    _print(explanation, options.all)
    if options.json:
        _write(explanation, with_rank(Path(options.json)))
    if window is not None:
        drawn = window.draw(options.stage, [options.program, *options.arguments], chosen, explanation.language)
        sys.stderr.write(f"{render(drawn, explanation.language)}\n")
    return SILENTLY_WRONG if status == 0 and explanation.is_silently_wrong else status


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="memory-stage explain", description=_DESCRIPTION, epilog=_STATUS)
    parser.add_argument("--all", action="store_true", help="also list the lines that write in place without a fault")
    parser.add_argument("--eager", action="store_true", help="run functions given to torch.compile uncompiled")
    parser.add_argument("--json", metavar="FILE", help="also write the faults as JSON, for tools")
    parser.add_argument("--language", choices=codes(), help=_LANGUAGE)
    parser.add_argument("--stage", metavar="FILE", help=_STAGE)
    parser.add_argument("--steps", metavar="FROM:TO", type=parsed_part, help=_STEPS)
    parser.add_argument("--line", metavar="N", type=parsed_number, help=_LINE)
    parser.add_argument("--iteration", metavar="N", type=parsed_number, help=_ITERATION)
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    return parser


def _chosen_part(options: argparse.Namespace) -> list[str]:
    """Return the options of the second run that choose the part to draw; [] for the steps around the fault."""
    steps = [] if options.steps is None else ["--steps", "{}:{}".format(*options.steps), "--end-after-steps"]
    line = [] if options.line is None else ["--line", str(options.line)]
    return steps + line + ([] if options.iteration is None else ["--iteration", str(options.iteration)])


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package, as the program alone would print it."""
    while traceback is not None and _is_own(traceback):
        traceback = traceback.tb_next
    each = traceback
    while each is not None:
        while each.tb_next is not None and _is_own(each.tb_next):
            each.tb_next = each.tb_next.tb_next
        each = each.tb_next
    return traceback


def _is_own(traceback: TracebackType) -> bool:
    return str(traceback.tb_frame.f_globals.get("__name__")).partition(".")[0] == __name__.partition(".")[0]


def _run_uncompiled() -> None:
    if importlib.util.find_spec("torch") is not None:
        importlib.import_module("torch.compiler").set_stance("force_eager")


def _print(explanation: Explanation, with_harmless: bool) -> None:
    """Print an explanation in one piece, because several processes may share the terminal."""
    text = explanation.text(with_harmless)
    if explanation.harmless and not with_harmless:
        with speaking(explanation.language):
            count = message("{count} (--all lists them).", count=count_of(explanation.harmless))
            text += f"\n{heading(rank_words())} {said(count)}"
    text = coloured(text) if are_colours_wanted(sys.stderr) else text
    sys.stderr.write(f"\n{text}\n")
    sys.stderr.flush()


def _write(explanation: Explanation, file: Path) -> None:
    try:
        file.write_text(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        print(f"{file} cannot be written: {error}", file=sys.stderr)


def _refuse(text: str) -> int:
    print(text, file=sys.stderr)
    return REFUSED


class WindowOfFault:
    """A run of a program that counts its statements, and the window of statements around its first fault.

    Args:
        nodes_made: returns how many nodes of the graph have been made.
    """

    def __init__(self, source: str, file: str, nodes_made: Callable[[], int]) -> None:
        self._run = CountedRun(source, file, nodes_made)
        self._folder = os.getcwd()  # the program may change to another folder
        self._found: tuple[Fault, int] | None = None

    def run(self, names: dict[str, Any]) -> None:
        """Run the program; ``names`` are its global names. An error of the program is raised."""
        self._run.run(names)

    def mark(self, fault: Fault) -> None:
        """Remember the first fault and how far the run has got."""
        if self._found is None:
            self._found = fault, self._run.count

    def draw(self, output: str, command: Sequence[str], chosen: Sequence[str], language: Language) -> Text:
        """Run the program again, up to the end of the window, and write its stage.

        Args:
            chosen: options that choose another part of the run than the steps around the fault.
            language: the language of the stage.

        Returns:
            A sentence about the result.
        """
        if self._found is None and not chosen:
            return message("No fault was found, so no stage was drawn.")
        options, part = ["--language", language.code, *chosen], message("the chosen part")
        if self._found is not None:
            fault, count = self._found
            options += ["--title", said(fault.verdict)]
            if not chosen:
                first, last = self._run.window(fault.first_node, count)
                part = message("statements {first} to {last}", first=f"{first:,}", last=f"{last:,}")
                options += ["--steps", f"{first}:{last}", "--line", str(culprit(fault).number), "--end-after-steps"]
        done = subprocess.run(
            [sys.executable, "-m", "memory_stage", *options, "--output", output, *command],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        words = done.stderr.strip().splitlines()
        # "FILE: 3 steps", in English or Chinese. At its exit the program may print more.
        results = [each for each in words if each.startswith(output)]
        drawn = [each for each in results if each.removeprefix(output).lstrip().startswith((":", "\uff1a"))]
        if not drawn:
            last_message = words[-1] if words else message("(none)")
            return message("The second run wrote no stage. Its last message: {message}", message=last_message)
        return message("{steps}, of {part} of a second run.", steps=drawn[-1], part=part)


def culprit(fault: Fault) -> ProgramLine:
    """Return the line at which the stage of a fault opens: the first that overwrites, or else the last."""
    writing = [each.line for each in fault.evidence if each.is_culprit]
    return writing[0] if writing else fault.evidence[-1].line
