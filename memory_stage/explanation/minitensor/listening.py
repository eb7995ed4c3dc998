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
from types import FrameType, TracebackType
from typing import Any, TypeVar

from memory_stage.engines.minitensor.numpy_writes import Outside
from memory_stage.explanation.minitensor import advice
from memory_stage.explanation.minitensor.lost_saves import Taken, moved, preservable, unnoticed, written_cells
from memory_stage.explanation.minitensor.phrases import REBOUND, what_happened
from memory_stage.explanation.minitensor.pytorchs import Pytorchs
from memory_stage.explanation.report import Report
from memory_stage.explanation.rows import Look, Row, SavedTensor, Spot
from memory_stage.explanation.verdicts import Verdict, in_order
from memory_stage.recorder.stack_headroom import Room
from minitensor.engine.core.history import Leaf, Node, Saved, peek
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.events import Subscription
from minitensor.engine.modes import modes
from minitensor.memory.backward_needs import (
    Needs,
    NewSaves,
    needs_of,
    new_saves_of,
    node_of_write,
    wanted_by,
    wanted_of,
)
from minitensor.memory.reachable_names import Sharing, memory_of
from minitensor.memory.source_lines import Site, Sources, caller_in_package, is_engines

Listening = TypeVar("Listening", bound="Listener")

MOST_ROWS = 1000  # the totals count what happens after them


class Listener(Subscription):
    """A context manager: inside, in-place operations get their rows. ``report`` has them."""

    def __init__(self, known: Iterable[tuple[str, Tensor]] = ()) -> None:
        self.report = Report()
        self._sources = Sources()
        self._sharing = Sharing()
        self._outside = Outside()
        self._pytorchs = Pytorchs()
        self._taken: Taken | None = None
        #: (id of a node, name of what it saved) -> the node, the row that made it stale, and how that row tells it.
        self._stale: dict[tuple[int, str], tuple[weakref.ref[Node], int, SavedTensor]] = {}
        self._told = 0, ""  # the identity and text of the last error that has a row
        self._number = 0
        for name, x in known:
            self._sharing.register(x, name)

    # ---------- beginning and end ----------

    def __enter__(self: Listening) -> Listening:
        self.open()
        self._outside.open()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            if error is not None:
                self.ended(error)
        finally:
            self.close()
            self._outside.close()
            self._sources, self._sharing, self._stale = Sources(), Sharing(), {}
            self._pytorchs = Pytorchs()

    def on_event(self, kind: str, *arguments: Any) -> None:
        """The engine tells what has happened."""
        with Room():
            try:
                self._note(kind, sys._getframe(1), *arguments)
            except Exception as failure:
                self._open = False
                self.report.cut_short = (
                    f"The report ends here: it could not be made ({type(failure).__name__}: {failure}). "
                    "The program ran on."
                )

    def _note(self, kind: str, frame: FrameType, *arguments: Any) -> None:
        if kind in ("make", "view", "start"):
            self._look_outside(frame)
        if kind == "make":
            self._pytorchs.made(frame, *arguments)
        elif kind == "write":
            self._wrote(Site.of(frame), caller_in_package(frame), *arguments)
        elif kind == "taken":
            self._taken = self._taken or Taken()
            self._taken.add(*arguments)
        elif kind == "view":
            view, op, (base,) = arguments
            self._sharing.view(view, base, self._sources.viewed(Site.of(frame), op))
            self._pytorchs.viewed(view, op, base)
        elif kind == "free":
            self._sharing.on_freed(*arguments)
            self._pytorchs.gone(*arguments)
        elif kind == "meta":
            self._reshaped(Site.of(frame), *arguments)
        elif kind == "refused":
            self._refused(Site.of(frame), *arguments)
        elif kind == "stale":
            self._raised(Site.of(frame), *arguments)

    def _row(self, site: Site, op: str, look: Look | None, **told: Any) -> Row:
        """A row more."""
        self._number += 1
        row = Row(self._number, op, Spot.of(site.place), modes.policy, look, **told)
        self.report.totals.add(row)
        if len(self.report.rows) < MOST_ROWS:
            self.report.rows.append(row)
        else:
            self.report.left_out += 1
        return row

    def _look(self, site: Site, op: str, x: Tensor) -> Look:
        """``x``, which ``op`` writes; the name that it has there is noted."""
        self._sharing.register(x, self._sources.written(site, op))
        name, view_of, array = self._sharing.name_of(x), self._sharing.base_of(x), x._array
        return Look(name, list(array.shape), array.dtype.name, array.nbytes, view_of)

    # ---------- writes ----------

    def _look_outside(self, frame: FrameType) -> None:
        """A row for what numpy or another library has written, where a backward needs what was there."""
        for storage, cells in self._outside.changed():
            stale = unnoticed(storage, cells)
            if not stale:
                continue
            row = self._row(
                Site.of(frame),
                "numpy",
                None,
                before=storage.version,
                after=storage.version,
                verdicts=(Verdict.UNNOTICED,),
                stale=stale,
                instead="Write into a copy of the array, or run backward before the write.",
            )
            row.happened = f"Before this line, numpy or another library wrote. {what_happened(row, '', '', False)}"

    def _wrote(self, site: Site, by: str, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any) -> None:
        if op == "backward" and self._taken is None:
            return  # a gradient was added to, and nobody needed what it was
        taken, self._taken = self._taken or Taken(), None
        look = self._look(site, op, x)
        recorded = modes.grad and x._node is not None and type(x._node) is not Leaf
        needs, kept = Needs(), NewSaves()
        if recorded and (node := node_of_write(x)) is not None:
            needs, kept = needs_of(op, wanted_of(op, node)), new_saves_of(op, node, inputs)
        in_layer = not recorded and modes.layer != ""
        unrecorded, whose = ("", "") if in_layer else self._unrecorded(x, recorded)
        below = memory_of(x)
        self._outside.wrote(below)
        unseen = [] if below is x._storage else unnoticed(below, written_cells(x, where))
        if by == "a layer" and unrecorded == "leaf" and below.savers is None:
            unrecorded = "init"
        gone = taken.stale + ([] if modes.policy == "copy_on_write" else moved(x._storage))
        stale = [told for _, _, told in gone] + unseen
        preserved = taken.preserved(besides=kept.storages)
        verdicts = in_order(
            verdict
            for verdict, true in (
                (Verdict.UNNOTICED, unseen),
                (Verdict.STALE, gone),
                (Verdict.UNRECORDED, unrecorded and unrecorded != "init"),
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
            preserved,
            preservable(x, where, taken.cells) if stale else 0,
            [told.lost for _, _, told in gone],
            by,
        )
        row = self._row(
            site,
            op,
            look,
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
            preserved=preserved,
            preserved_for=taken.preserved_for,
            stale=stale,
            by=by,
        )
        refused = "" if gone else self._pytorchs.refuses(site, x, op, inputs, where, kept.copied, recorded)
        row.happened = f"{what_happened(row, unrecorded, whose, in_layer)} {refused}".strip()
        is_update = unrecorded and not (unrecorded == "leaf" and stale)
        row.instead = advice.in_all(facts, unrecorded if is_update else "", whose, refused)
        if row in self.report.rows[-1:]:
            for link, names, told in gone:
                for what in names:
                    self._stale[id(link()), what] = link, row.number, told

    def _unrecorded(self, x: Tensor, recorded: bool) -> tuple[str, str]:
        """Why the history does not know of a write through ``x`` (a key of ``advice.UNRECORDED``), and whose."""
        node = peek(x)
        if not recorded and node is not None:
            if type(node) is Leaf:
                return ("set_value" if modes.grad else "leaf"), self._sharing.called(x)
            return "no_grad", self._sharing.called(x)
        for other in list(self._sharing.others(x)):
            if peek(other) is not None:
                return ("detached" if other._storage is x._storage else "data"), self._sharing.called(other)
        return "", ""

    def _reshaped(self, site: Site, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        version = x._storage.version
        recorded = modes.grad and peek(x) is not None
        happened = REBOUND.get(op, "Only shape and strides have changed.")
        self._row(
            site,
            op,
            self._look(site, op, x),
            before=version - 1 if op == "cast_" else version,
            after=version,
            recorded=recorded,
            verdicts=(Verdict.METADATA,),
            happened=f"{happened} {self._pytorchs.refuses_view(x, recorded)}".rstrip(),
        )

    # ---------- errors ----------

    def _refused(self, site: Site, error: Exception, reason: str, op: str, x: Tensor, *rest: Any) -> None:
        """In-place ``op`` on ``x`` is about to raise; the ``rest`` is what the maker of the error was given."""
        needs = needs_of(op, wanted_by(op, rest)) if reason == "needs_own_input" else Needs()
        version, array = x._storage.version, x._array
        self._row(
            site,
            op,
            self._look(site, op, x),
            before=version,
            after=version,
            verdicts=(Verdict.REFUSED,),
            rules=needs.rules,
            needs=needs.what,
            why=needs.why,
            error=self._tell(error),
            happened="Nothing was written.",
            instead=advice.for_refusal(reason, advice.Facts(op, array.nbytes, array.size, needs)),
        )

    def _raised(self, site: Site, error: Exception, reason: str, node: Node, what: str, saved: Saved) -> None:
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

    def ended(self, error: BaseException) -> None:
        """The program has ended with ``error``."""
        if not self._open or self._told == (id(error), str(error)):
            return
        user, traceback = None, error.__traceback__
        while traceback is not None:
            frame = traceback.tb_frame
            if not is_engines(frame):
                user = Site(frame.f_code, traceback.tb_lasti, frame.f_globals)
            traceback = traceback.tb_next
        if user is None:
            user = Site.of(sys._getframe(2))
        self._row(user, "", None, verdicts=(Verdict.RAISES,), error=self._tell(error), happened="The program ended.")

    def _tell(self, error: BaseException) -> str:
        self._told = id(error), str(error)
        return f"{type(error).__name__}: {error}"
