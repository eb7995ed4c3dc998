"""Write one or a few sentences for each step of a trace.

The subject is the operation or the line, the verb is in the present tense, and the numbers follow. Further sentences
are only for facts that the picture does not show. A storage is named by its number, an operation by its line, and
``a@0`` is the state of ``a`` at version 0. A step has at most 35 words, no colours, no "here", and no text of an error.
Code is in backticks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from memory_stage.messages import Language, Text, capitalized, continued, message, render, sentences
from memory_stage.model import changes
from memory_stage.model.finished_step import FinishedStep
from memory_stage.sentences.backward import say_backward
from memory_stage.sentences.calls import say_call, say_resumed, say_return
from memory_stage.sentences.naming import say_names
from memory_stage.sentences.refusals import say_error
from memory_stage.sentences.results import raises_only, say_made, say_reshaped, say_viewed
from memory_stage.sentences.several import say_several
from memory_stage.sentences.sharing import say_elsewhere, say_moved, say_unversioned
from memory_stage.sentences.writes import say_write
from memory_stage.trace.amounts import bytes_message

#: The clauses in which a sentence about a write mentions a version, in all languages that have catalogues.
_CLAUSES = re.compile(
    r", which goes from version \d+ to version \d+|, and each version increases by 1"
    r"|,(?: now)?(?: at)? version \d+(?=[.,])|: version \d+(?=\.)"
    r"|\uff0c版本从 \d+ 变为 \d+|\uff0c版本变为 \d+|\uff1a版本 \d+(?=\u3002)|\uff0c各版本加 1"
)
NOTHING = message("The program has no statement that touches memory.")

#: For each kind of change that an operation makes, the function that describes a step with this change only.
_SAYS: dict[type, Callable[[FinishedStep, Any], Text]] = {
    changes.Made: say_made,
    changes.Viewed: say_viewed,
    changes.Wrote: say_write,
    changes.Reshaped: say_reshaped,
    changes.Moved: say_moved,
    changes.Unversioned: say_unversioned,
    changes.Elsewhere: say_elsewhere,
}


def say(done: FinishedStep) -> Text:
    """Return the sentences of a finished step."""
    said = _say(done)
    if str(said).startswith(changes.UNREPORTED_WRITE):
        said = capitalized(said)
    unseen = {str(fact.text): fact.text for fact in done.all(changes.Unseen)}
    if unseen:
        others = list(unseen.values())
        return sentences([said, *others] if _main(done) or done.error is not None else others)
    # A screen reader does not read a sentence that equals the previous one.
    if str(said) != done.previous:
        return said
    return message("Again, {sentence}", sentence=continued(said))


def _say(done: FinishedStep) -> Text:
    if done.error is not None:
        return say_error(done, _main(done))
    if done.phase == "backward":
        return say_backward(done) or _forward(done)
    return _forward(done)


def _forward(done: FinishedStep) -> Text:
    ops = _main(done)
    if done.all(changes.Called):
        return say_call(done, ops)
    if done.all(changes.Returned):
        return say_return(done, ops)
    if done.all(changes.Resumed):
        return say_resumed(done, ops)
    if not ops:
        return _describe_released(done) or say_names(done)
    raised = raises_only(ops)
    if len(raised) == 1 and len(ops) == 2:
        return say_reshaped(done, next(fact for fact in ops if fact is not raised[0]), raised[0])
    if len(ops) > 1:
        return say_several(done, ops)
    (fact,) = ops
    return _SAYS[type(fact)](done, fact)


def _main(done: FinishedStep) -> list[Any]:
    """Return the changes by operations. Leave out auxiliary views and casts, and freed storages of other threads."""
    ops = done.all(*_SAYS)
    ops = [fact for fact in ops if not (isinstance(fact, changes.Elsewhere) and fact.storage.freed)]
    if any(isinstance(fact, changes.Moved) and fact.op == "set_" for fact in ops):
        ops = [
            fact
            for fact in ops
            if not (isinstance(fact, changes.Viewed) and fact.op == "as_strided" and fact.tensor.freed)
        ]
    if any(fact.tensor.is_array for fact in done.all(changes.Named)):  # as in `n = x.detach().numpy(share=True)`
        ops = [fact for fact in ops if not (isinstance(fact, changes.Viewed) and fact.tensor.freed)]
    written = [fact.tensor for fact in ops if isinstance(fact, (changes.Wrote, changes.Unversioned))]
    written += [entry for fact in ops if isinstance(fact, changes.Wrote) for entry in fact.reads]
    return [
        fact
        for fact in ops
        if not (isinstance(fact, changes.Viewed) and fact.tensor in written and not fact.tensor.was_named)
        and not (isinstance(fact, changes.Made) and fact.op == "cast" and len(ops) > 1 and fact.tensor.freed)
    ]


def _describe_released(done: FinishedStep) -> Text:
    """Describe the memory that a GPU's allocator gave back to the GPU, if nothing else happened; "" otherwise."""
    if not done.unreserved or done.events:
        return ""
    return message(
        "Line {line} returns {size} of reserved memory that held no tensor: {reserved} stay reserved. Allocated "
        "memory does not change.",
        line=done.line,
        size=bytes_message(done.unreserved),
        reserved=f"{done.reserved:,}",
    )


def leave_out_versions(steps: list[dict[str, Any]], language: Language) -> None:
    """Change the sentences of a trace's steps so that none mentions the version of a written storage."""
    before = ""
    for step in steps:
        said = _CLAUSES.sub("", step["say"])
        if said == before:  # a screen reader reads a sentence only if it differs from the previous one
            said = render(message("Again, {sentence}", sentence=continued(said)), language)
        step["say"] = before = said
