"""What a cell prints, in one piece.

A kernel sends printed text in pieces, cut wherever its timer fell; MyST-NB 1.4 joins them with a line
end between, so that pages differ from build to build. Here they are joined as they came.
"""

from __future__ import annotations

import myst_nb.core.render
from nbformat import NotebookNode


def join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs with all text of one stream (stdout, stderr) where its first piece stood."""
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
    """Make MyST-NB join streams this way, where `nb_merge_streams` asks for it."""
    myst_nb.core.render.coalesce_streams = join_streams
