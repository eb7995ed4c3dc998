"""Remove the versions of storages from sentences, for a picture that shows no versions."""

from __future__ import annotations

import re
from typing import Any

from memory_stage.messages import Language, continued, message, render

#: The clauses in which a sentence about a write mentions a version, in all languages that have catalogues.
_CLAUSES = re.compile(
    r", which goes from version \d+ to version \d+|, and each version increases by 1"
    r"|,(?: now)?(?: at)? version \d+(?=[.,])|: version \d+(?=\.)"
    r"|\uff0c版本从 \d+ 变为 \d+|\uff0c版本变为 \d+|\uff1a版本 \d+(?=\u3002)|\uff0c各版本加 1"
)


def leave_out_versions(steps: list[dict[str, Any]], language: Language) -> None:
    """Change the sentences of a trace's steps so that none mentions the version of a written storage."""
    before = ""
    for step in steps:
        said = _CLAUSES.sub("", step["say"])
        if said == before:  # a screen reader reads a sentence only if it differs from the previous one
            said = render(message("Again, {sentence}", sentence=continued(said)), language)
        step["say"] = before = said
