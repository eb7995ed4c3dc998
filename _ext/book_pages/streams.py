"""Join the printed output of a cell.

A kernel sends printed text in pieces. A timer divides the text, so a piece can end anywhere. MyST-NB 1.4 inserts a line
end between two pieces, so pages differ from build to build. This module joins the pieces without a line end.
"""

from __future__ import annotations

import myst_nb.core.render
from nbformat import NotebookNode


def join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return the outputs, with the whole text of a stream (stdout, stderr) in the position of its first piece."""
    joined: list[NotebookNode] = []
    streams: dict[str, NotebookNode] = {}
    for output in outputs:
        if output["output_type"] != "stream":
            joined.append(output)
        elif output["name"] in streams:
            streams[output["name"]]["text"] += output["text"]
        else:
            streams[output["name"]] = NotebookNode(output)
            joined.append(streams[output["name"]])
    return joined


def mend_joining() -> None:
    """Make MyST-NB call `join_streams` where its setting `nb_merge_streams` is on."""
    myst_nb.core.render.coalesce_streams = join_streams
