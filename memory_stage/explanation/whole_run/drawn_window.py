"""Draw the stage of the steps around a fault: run the program a second time and record only these steps."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from memory_stage.explanation.whole_run.faults import Fault
from memory_stage.messages import Language, Text, message, said
from memory_stage.recorder.counted_run import CountedRun
from memory_stage.watch.lines import ProgramLine


class WindowOfFault:
    """A counted run of a program, and the window around its first fault.

    Args:
        nodes_made: returns how many nodes of the graph have been made.
    """

    def __init__(self, source: str, file: str, nodes_made: Callable[[], int]) -> None:
        self._run = CountedRun(source, file, nodes_made)
        self._folder = os.getcwd()  # the program may leave it
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
        rest = words[-1].removeprefix(output).lstrip() if words and words[-1].startswith(output) else ""
        if not rest.startswith((":", "\uff1a")):  # "FILE: 3 steps", in English or Chinese
            last_message = words[-1] if words else message("(none)")
            return message("The second run wrote no stage. Its last message: {message}", message=last_message)
        return message("{steps}, of {part} of a second run.", steps=words[-1], part=part)


def culprit(fault: Fault) -> ProgramLine:
    """Return the line at which the stage of a fault opens: the first that overwrites, or else the last one."""
    writing = [each.line for each in fault.evidence if each.is_culprit]
    return writing[0] if writing else fault.evidence[-1].line
