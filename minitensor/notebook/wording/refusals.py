"""Sentences about errors: what was asked for and why it is refused. Rules: see ``sentences``."""

from __future__ import annotations

import re

from minitensor.notebook.recording.entries import TensorEntry
from minitensor.notebook.recording.facts import Done, Wrote
from minitensor.notebook.wording.words import RESHAPING_IN_PLACE, code, fitting, node_text

_METHOD = re.compile(r"^([A-Za-z_][\w.\[\]']*)\.\w+\(")
_ITEM = re.compile(r"^([A-Za-z_]\w*)\s*\[.*=")


def say_error(done: Done) -> str:
    error = done.error
    text, kind = str(error), type(error).__name__
    line = f"Line {done.line}"
    found = _METHOD.match(done.statement.text) or _ITEM.match(done.statement.text)
    op = re.search(r"`(\w+)`", text)
    subject = code(op.group(1)) if op and op.group(1) != "setitem" else line
    unchanged = "Nothing is written." if not done.all(Wrote) else ""
    node = done.node
    if node is not None and "wrapper_version_snapshot" in text:
        stale = next((save for save in node.saves if save.stale), None)
        if stale is not None:
            return fitting(
                f"{node_text(node)} asks for {code(stale.name)} at version {stale.version} and finds version "
                f"{stale.storage.version}, so {code('backward')} raises.",
                "None of its bytes were overwritten: only the version moved." if stale.stale == "moved" else "",
            )
    if node is not None and "an earlier backward has used" in text:
        return f"{node_text(node)} has let go of what it saved, for an earlier backward used it. So this one raises."
    if text.startswith("Leaf Var"):
        verb = "change the shape of" if op and op.group(1) in RESHAPING_IN_PLACE else "write"
        what = _protected(done, found.group(1) if found else "")
        return fitting(f"{subject} asks to {verb} {what} while gradients are recorded, and is refused.", unchanged)
    if "in-place policy" in text:
        return fitting(
            f'{subject} is refused under the policy "2.5": its backward needs the input that it would overwrite.',
            unchanged,
        )
    if text.startswith("The shape of broadcast output"):
        return fitting(
            f"{subject} would need a larger result than its target, and a shape never grows in place: it is refused.",
            unchanged,
        )
    return fitting(f"{line} raises {code(kind)}.", "" if done.events[:-1] else "Memory stays as it is.")


def _protected(done: Done, name: str) -> str:
    """The leaf that a refused operation asked for, by way of ``name``."""
    entry = _named(done, name) or _named(done, f"{name} in {done.statement.function}")
    if entry is None:
        return "a leaf"
    if entry.look["leaf"]:
        return f"the leaf {code(name)}"
    leaf = next((each for each in entry.family.members.values() if each.look["leaf"] and each.names), None)
    return f"{f'the leaf {code(leaf.names[0])}' if leaf else 'a leaf'} through its view {code(name)}"


def _named(done: Done, name: str) -> TensorEntry | None:
    return next((entry for entry in done.ledger.tensors.values() if name in entry.names), None)
