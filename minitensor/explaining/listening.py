"""Listens to a program and writes a row for each of its in-place operations.

* It hears the engine's events only, and hands each to whoever listened before.
* It keeps identities, weak references, texts and numbers: values, versions, lifetimes, allocated bytes and peak are
  those of the unwatched run.
* What goes wrong in here ends the report, not the program.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from minitensor.events import watch
from minitensor.explaining import advice
from minitensor.explaining.attempts import Attempt, attempt_in, frames_of
from minitensor.explaining.needs import Kept, Needs, kept_by, needs_of, node_of_write, row_of, wanted_of
from minitensor.explaining.report import Look, Report, Row, SavedTensor
from minitensor.explaining.sharing import Sharing, peek
from minitensor.explaining.sources import Site, Sources, is_engines
from minitensor.explaining.verdicts import Verdict, in_order
from minitensor.explaining.wording import what_happened
from minitensor.history import Leaf, Node
from minitensor.modes import modes
from minitensor.saving import FREED, Cells, Lost, Patch, Saved, is_right, version_saved
from minitensor.storage import Storage
from minitensor.tensor import Tensor

MOST_ROWS = 1000  # the totals count what happens after them


@dataclass
class Taken:
    """What a write took of what others had saved.

    Attributes:
        preserved: bytes; ``patch`` is the identity of the storage that holds them.
        preserved_for: the savers.
        stale: those that lost bytes and were right before, with their nodes and names, to be found again.
        cells: where the bytes of those lie.
    """

    preserved: int = 0
    patch: int = 0
    preserved_for: list[SavedTensor] = field(default_factory=list)
    stale: list[tuple[weakref.ref[Node], str, SavedTensor]] = field(default_factory=list)
    cells: list[Cells] = field(default_factory=list)


class Listener:
    """A context manager: inside, in-place operations get their rows. ``report`` has them."""

    def __init__(self, known: Iterable[tuple[str, Tensor]] = ()) -> None:
        self.report = Report()
        self._sources = Sources()
        self._sharing = Sharing()
        self._taken: Taken | None = None
        #: (id of a node, name of what it saved) -> the node, the row that made it stale, and how that row tells it.
        self._stale: dict[tuple[int, str], tuple[weakref.ref[Node], int, SavedTensor]] = {}
        self._told = 0, ""  # the identity and text of the last error that has a row
        self._number = 0
        self._active = False
        self._before: Any = None
        for name, x in known:
            self._sharing.meet(x, name)

    # ---------- beginning and end ----------

    def __enter__(self) -> Listener:
        self._before, watch.listener = watch.listener, self.heard
        self._active = True
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        if watch.listener == self.heard:
            watch.listener = self._before
        try:
            if error is not None and self._active:
                self._failed(error, traceback)
        finally:
            self._active = False
            self._sharing, self._stale, self._before = Sharing(), {}, None

    def heard(self, kind: str, *arguments: Any) -> None:
        """The engine tells what has happened."""
        if self._before is not None:
            self._before(kind, *arguments)
        if not self._active:
            return
        try:
            self._note(kind, sys._getframe(1), *arguments)
        except Exception as failure:
            self._active = False
            self.report.cut_short = (
                f"The report ends here: it could not be made ({type(failure).__name__}: {failure}). The program ran on."
            )

    def _note(self, kind: str, frame: FrameType, *arguments: Any) -> None:
        if kind == "write":
            self._wrote(Site.of(frame), *arguments)
        elif kind == "taken":
            self._taken = _taken(*arguments)
        elif kind == "view":
            view, op, (base,) = arguments
            self._sharing.view(view, base, self._sources.viewed(Site.of(frame), op))
        elif kind == "free":
            self._sharing.gone(*arguments)
        elif kind == "meta":
            self._relaid(Site.of(frame), *arguments)
        elif kind == "refused":
            self._refused(Site.of(frame), frames_of(frame), *arguments)
        elif kind == "stale":
            self._raised(Site.of(frame), *arguments)

    def _row(self, site: Site, op: str, x: Tensor | None, **told: Any) -> Row:
        """A row more."""
        self._number += 1
        row = Row(self._number, op, site.spot, modes.policy, self._look(site, op, x), **told)
        self.report.totals.add(row)
        if len(self.report.rows) < MOST_ROWS:
            self.report.rows.append(row)
        else:
            self.report.left_out += 1
        return row

    def _look(self, site: Site, op: str, x: Tensor | None) -> Look | None:
        if x is None:
            return None
        name = self._sources.written(site, op)
        name = self._sharing.meet(x).name if name == "" else name
        array = x._array
        self._sharing.meet(x, name)
        view_of = self._sharing.base_of(x)
        return Look(name or self._sharing.name_of(x), list(array.shape), array.dtype.name, array.nbytes, view_of)

    # ---------- writes ----------

    def _wrote(self, site: Site, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any) -> None:
        taken, self._taken = self._taken or Taken(), None
        recorded = modes.grad and x._node is not None and type(x._node) is not Leaf
        needs, kept = Needs(), Kept()
        if recorded and (node := node_of_write(x)) is not None:
            needs, kept = needs_of(op, wanted_of(op, node)), kept_by(op, node, inputs)
        unrecorded, whose = self._unrecorded(x, recorded)
        moved = [] if modes.policy == "copy_on_write" else _moved(x._storage, taken)
        stale = [told for _, _, told in (*taken.stale, *moved)]
        if taken.patch in kept.storages:
            taken.preserved = 0  # the copy serves them, too
        verdicts = in_order(
            verdict
            for verdict, true in (
                (Verdict.STALE, stale),
                (Verdict.UNRECORDED, unrecorded),
                (Verdict.COPIES, kept.copied),
                (Verdict.MARKS, kept.marked or kept.indexed),
                (Verdict.PRESERVES, taken.preserved_for),
            )
            if true
        )
        facts = advice.Facts(
            op,
            x._array.nbytes,
            x._array.size,
            needs,
            kept.copied,
            kept.marked,
            taken.preserved,
            _preservable(x, where, taken.cells) if stale else 0,
            [told.lost for told in stale],
        )
        row = self._row(
            site,
            op,
            x,
            before=x._storage.version - 1,
            after=x._storage.version,
            recorded=recorded,
            verdicts=verdicts,
            rules=needs.rules,
            needs=needs.what + (("its index",) if kept.indexed else ()),
            why=needs.why,
            copied=kept.copied,
            marked=kept.marked,
            indexed=kept.indexed,
            preserved=taken.preserved,
            preserved_for=taken.preserved_for,
            stale=stale,
        )
        row.happened = what_happened(row, unrecorded, whose)
        instead = [advice.for_write(facts), advice.for_unrecorded(unrecorded, whose) if unrecorded else ""]
        row.instead = " ".join(part for part in instead if part)
        if row in self.report.rows[-1:]:
            for link, what, told in (*taken.stale, *moved):
                self._stale[id(link()), what] = link, row.number, told

    def _unrecorded(self, x: Tensor, recorded: bool) -> tuple[str, str]:
        """Why the history does not know of a write through ``x`` (a key of ``advice.UNRECORDED``), and whose."""
        node = peek(x)
        if not recorded and node is not None:
            if type(node) is Leaf:
                return ("set_value" if modes.grad else "leaf"), self._called(x)
            return "no_grad", self._called(x)
        for other in list(self._sharing.others(x)):
            if peek(other) is not None:
                return "detached", self._called(other)
        return "", ""

    def _called(self, x: Tensor) -> str:
        name = self._sharing.name_of(x)
        return f"`{name}`" if name else f"the tensor of shape {list(x._array.shape)}"

    def _relaid(self, site: Site, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        version = x._storage.version
        self._row(
            site,
            op,
            x,
            before=version,
            after=version,
            recorded=modes.grad and peek(x) is not None,
            verdicts=(Verdict.METADATA,),
            happened="Only shape and strides have changed.",
        )

    # ---------- errors ----------

    def _refused(self, site: Site, frames: list[FrameType], error: Exception, reason: str) -> None:
        if self._has_row(error):
            return  # one error was made of another
        attempt = attempt_in(frames)
        if attempt is not None:
            self._tell_refused(site, attempt, error, reason)

    def _tell_refused(self, site: Site, attempt: Attempt, error: BaseException, reason: str) -> None:
        x, op = attempt.x, attempt.op
        needs = needs_of(op, attempt.wanted) if reason == "needs_own_input" else Needs()
        version = x._storage.version if x is not None else None
        array = x._array if x is not None else np.empty(0)
        self._row(
            site,
            op,
            x,
            before=version,
            after=version,
            verdicts=(Verdict.REFUSED,),
            rules=needs.rules,
            needs=needs.what,
            why=needs.why,
            error=self._tell(error),
            happened="Nothing was written.",
            instead=advice.for_refusal(reason, advice.Facts(op, array.nbytes, array.size, needs)) if reason else "",
        )

    def _raised(self, site: Site, error: Exception, node: Node, what: str, saved: Saved) -> None:
        """A backward found that what ``node`` saved is stale."""
        link, cause, told = self._stale.get((id(node), what), (None, None, None))
        if link is not None and link() is not node:
            cause = told = None
        happened = "Backward needs a saved tensor that a write has made stale."
        if told is not None:
            told.asked_for = True
            happened = f"Backward needs {told}; row {cause} made it stale."
        self._row(
            site, "backward", None, verdicts=(Verdict.RAISES,), error=self._tell(error), happened=happened, cause=cause
        )

    def _failed(self, error: BaseException, traceback: TracebackType | None) -> None:
        """The program ended with ``error``."""
        if self._has_row(error):
            return
        user, frames = None, []
        while traceback is not None:
            frame = traceback.tb_frame
            if is_engines(frame):
                frames.insert(0, frame)
            else:
                user, frames = Site(frame.f_code, traceback.tb_lasti, frame.f_globals), []
            traceback = traceback.tb_next
        if user is None:
            user = Site.of(sys._getframe(2))
        attempt = attempt_in(frames)
        if attempt is not None:
            self._tell_refused(user, attempt, error, "")
        else:
            self._row(user, "", None, verdicts=(Verdict.RAISES,), error=self._tell(error), happened="The program ended.")

    def _tell(self, error: BaseException) -> str:
        self._told = id(error), str(error)
        return f"{type(error).__name__}: {error}"

    def _has_row(self, error: BaseException) -> bool:
        return self._told == (id(error), str(error))


# ---------- what a write took ----------


def _saved_tensor(node: Node, k: int, lost: bool) -> SavedTensor:
    array = node.saved[k][0]
    spot = Site(node.code, node.instruction, {}).spot
    return SavedTensor(node.op.name, spot, _what(node, k), list(array.shape), array.nbytes, lost)


def _what(node: Node, k: int) -> str:
    names = node.op.saved_names
    name = names[k] if k < len(names) else "a saved tensor"
    row = row_of(node.op.name) or row_of(node.op.name + "_")
    if name == "out":
        return "its output"
    if row is None or name not in row.operands:
        return f"its {name}"
    return "its input" if len(row.operands) == 1 else f"its input {name}"


def _name(node: Node, k: int) -> str:
    names = node.op.saved_names
    return names[k] if k < len(names) else ""


def _taken(storage: Storage, savers: list[tuple[Node, int]], patch: Patch | None) -> Taken:
    taken = Taken()
    if patch is not None:
        taken.preserved, taken.patch = patch.nbytes, id(patch.storages[0])
    for node, k in savers:
        saved = node.saved[k]
        if type(saved[2]) is not Lost:
            taken.preserved_for.append(_saved_tensor(node, k, lost=False))
        elif _was_right(storage, version_saved(saved)):
            taken.stale.append((weakref.ref(node), _name(node, k), _saved_tensor(node, k, lost=True)))
            taken.cells.append(Cells.of(saved[0]))
    return taken


def _was_right(storage: Storage, version: int) -> bool:
    """Whether what was saved at ``version`` was right just before the last write."""
    kept_from, kept_to = getattr(storage, "kept", (0, -1))
    return version == storage.version - 1 or (kept_to == storage.version - 1 and kept_from <= version)


def _moved(storage: Storage, taken: Taken) -> list[tuple[weakref.ref[Node], str, SavedTensor]]:
    """What became stale by the last write although none of its bytes were taken: only the version has moved."""
    found = []
    for link in storage.savers or ():
        node = link()
        if node is None or node.saved is FREED:
            continue
        for k, saved in enumerate(node.saved):
            if not (type(saved) is tuple and len(saved) == 3 and saved[1] is storage) or type(saved[2]) is Lost:
                continue
            if not is_right(saved) and _was_right(storage, version_saved(saved)):
                found.append((link, _name(node, k), _saved_tensor(node, k, lost=False)))
    return found


def _preservable(x: Tensor, where: Any, cells: list[Cells]) -> int:
    """Bytes that lie in the written part of ``x`` and in one of ``cells``."""
    array = x._array
    if isinstance(where, tuple):
        written = Cells.picked(array, where)
    else:
        written = Cells.of(array if where is None else where)
    needed = np.zeros(written.extent, np.bool_)
    for each in cells:
        each.mark(needed, written.lowest, array.itemsize, True)
    if written.layout is not None or written.positions is not None:
        targets = np.zeros(written.extent, np.bool_)
        written.mark(targets, written.lowest, array.itemsize, True)
        needed &= targets
    return int(needed.sum()) * array.itemsize
