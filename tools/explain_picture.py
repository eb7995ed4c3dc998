"""Draw the picture in memory_stage's README: the output of ``memory-stage explain`` for the program of a public report.

    python tools/explain_picture.py      in an environment with PyTorch; writes docs/explain.svg

This runs the command. The colours of the picture are light or dark, like those of the reader's system.
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "facts" / "programs" / "reports" / "o06_attention_dropped_by_hand.py"
PICTURE = ROOT / "docs" / "explain.svg"

#: Sizes in pixels: the width of a letter, the height of a line, and the margin of the picture.
LETTER, LINE, MARGIN = 8.43, 20, 18

STYLE = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328;
       white-space: pre; }
.page { fill: #ffffff; stroke: #d1d9e0; } .bold { font-weight: 600; }
.old { fill: #b3261e; } .new { fill: #1a6b2f; } .note { fill: #57606a; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #12161c; stroke: #3d444d; }
  .old { fill: #ff8a80; } .new { fill: #7ee08f; } .note { fill: #9da7b3; }
}
"""


def output_lines() -> list[str]:
    """Return the lines that the command prints for the program."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "memory_stage", "explain", PROGRAM.name]
    run = subprocess.run(command, cwd=PROGRAM.parent, env=environment, capture_output=True, text=True)
    lines = run.stderr[run.stderr.index("memory-stage: ") :].rstrip().splitlines()
    return [f"$ memory-stage explain {PROGRAM.name}", "", *lines]


def as_svg(lines: list[str]) -> str:
    """Return the lines as an SVG image."""
    width = round(max(map(len, lines)) * LETTER + 2 * MARGIN)
    height = len(lines) * LINE + 2 * MARGIN
    place = f'x="{MARGIN}" xml:space="preserve"'
    rows = [
        f'<text {place} y="{MARGIN + 14 + number * LINE}"{_kind(line)}>{html.escape(line)}</text>'
        for number, line in enumerate(lines)
        if line
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" aria-label="What memory-stage explain prints">',
            f"<style>{STYLE}</style>",
            f'<rect class="page" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


def _kind(line: str) -> str:
    if "without a fault" in line:
        return ' class="note"'
    words = line.split()
    first = words[0] if words else ""
    kind = {"-": "old", "+": "new", "$": "note", "memory-stage:": "bold", "Fix:": "bold"}.get(first, "")
    return f' class="{kind}"' if kind else ""


if __name__ == "__main__":
    PICTURE.write_text(as_svg(output_lines()), encoding="utf-8")
