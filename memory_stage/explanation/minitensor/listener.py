"""Write a row for each in-place operation of minitensor in a program or a cell, from the engine's events.

* The listener keeps ids, weak references, texts and numbers only, so values, versions, lifetimes, allocated bytes and
  the peak are the same as in an unobserved run.
* An error of the listener ends the report, and the program continues.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from memory_stage.engines.minitensor.engine import MINITENSOR
from memory_stage.explanation.minitensor import alternatives, lost_saves
from memory_stage.explanation.minitensor.pytorch_refusals import PytorchRefusals
from memory_stage.explanation.minitensor.write_sentences import REBOUND, describe_write, needed, reasons
from memory_stage.explanation.report import Report
from memory_stage.explanation.report_rows import ReportRow, SavedTensor, SourceLine, TensorView
from memory_stage.explanation.verdict import Verdict, in_order
from memory_stage.messages import Text, message, said, sentences
from memory_stage.model.shared_memory import SharedMemory
from memory_stage.recorder.stack_headroom import StackHeadroom
from minitensor.engine import events
from minitensor.engine.core.history import Leaf, Node, peek
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import address_of
from minitensor.engine.modes import modes
from minitensor.engine.saved.cells import Cells
from minitensor.memory.backward_needs import (
    Needs,
    NewSaves,
    needs_of,
    new_saves_of,
    node_of_write,
    wanted_by,
    wanted_of,
)
from minitensor.memory.reachable_names import Sharing, memory_of, names_in, tensors_in
from minitensor.memory.source_lines import Site, Sources, caller_in_package, is_engines

Listening = TypeVar("Listening", bound="Listener")


class Listener(events.Subscription):
    """A context manager that adds a row to ``report`` for each in-place operation.

    Args:
        known: tensors that exist already, each with its name.
        while_recorded: if True, the listener closes together with the recorder that opens after the listener. The rest
            of a long program then runs at full speed.
    """

    def __init__(self, known: Iterable[tuple[str, Tensor]] = (), *, while_recorded: bool = False) -> None:
        self.report = Report()
        self._while_recorded = while_recorded
        self._is_below_recorder = False
        self._sources = Sources()
        self._sharing = Sharing()
        self._shared = SharedMemory(MINITENSOR)
        self._pytorch = PytorchRefusals()
        self._taken: lost_saves.OverwrittenSaves | None = None
        #: Maps the id of a node and the name of a stale saved tensor to the node, the write's row number, and the save.
        self._stale: dict[tuple[int, str], tuple[weakref.ref[Node], int, SavedTensor]] = {}
        self._last_error = 0, ""  # the id and text of the last error that has a row
        for name, x in known:
            self._sharing.register(x, name)

    # ---------- beginning and end ----------

    def __enter__(self: Listening) -> Listening:
        self.open()
        self._shared.open()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            if error is not None:
                self.ended(error)
        finally:
            self.close()
            self._shared.close()
            self._sources, self._sharing, self._stale = Sources(), Sharing(), {}
            self._pytorch = PytorchRefusals()

    def on_event(self, event: events.Event) -> None:
        """Add a row for an event, or note it for a later row."""
        if self._while_recorded:
            if events.watch.listener != self._receive:
                self._is_below_recorder = True
            elif self._is_below_recorder:
                self.close()
                return
        with StackHeadroom():
            try:
                self._note(event, sys._getframe(1))
            except Exception as failure:
                self._open = False
                self.report.cut_short = said(
                    message(
                        "The report ends here: it could not be made ({error}). The program ran on.",
                        error=f"{type(failure).__name__}: {failure}",
                    )
                )

    def _note(self, event: events.Event, frame: FrameType) -> None:
        if isinstance(event, (events.TensorCreated, events.ViewCreated, events.BackwardStarted)):
            self._look_outside(frame)
        match event:
            case events.TensorCreated(x, op, inputs):
                self._pytorch.made(frame, x, inputs)
            case events.TensorWritten(x, op, inputs, where):
                self._on_write(Site.of(frame), caller_in_package(frame), x, op, inputs, where)
            case events.SavedOverwritten(storage, savers, patch):
                self._taken = self._taken or lost_saves.OverwrittenSaves()
                self._taken.add(storage, savers, patch)
            case events.ViewCreated(view, op, (base,)):
                self._sharing.view(view, base, self._sources.viewed(Site.of(frame), op))
                self._pytorch.viewed(view, op, base)
            case events.StorageReleased(storage):
                self._sharing.on_freed(storage)
                self._pytorch.on_freed(storage)
            case events.MetadataChanged(x, op):
                self._on_meta(Site.of(frame), x, op)
            case events.OperationRefused(error, reason, (op, x, *rest)):
                self._on_refused(Site.of(frame), error, reason, op, x, tuple(rest))
            case events.BackwardRefused(error, _, (node, what, *_)):
                self._on_stale(Site.of(frame), error, node, what)

    def _add(self, site: Site, op: str, view: TensorView | None, **fields: Any) -> ReportRow:
        """Add a row to the report and return it."""
        row = ReportRow(0, op, SourceLine.of(site.place), modes.policy, view, **fields)
        self.report.add(row)
        return row

    def _view(self, site: Site, op: str, x: Tensor) -> TensorView:
        """Register the tensor ``x`` that ``op`` writes at ``site``, and describe it."""
        self._sharing.register(x, self._sources.written(site, op))
        name, view_of, array = self._sharing.name_of(x), self._sharing.base_of(x), x._array
        return TensorView(name, list(array.shape), array.dtype.name, array.nbytes, view_of)

    # ---------- writes ----------

    def _look_outside(self, frame: FrameType) -> None:
        """Add a row if numpy or another library has overwritten bytes that a backward pass needs."""
        for storage in self._shared.storages():
            changed = self._shared.changed(storage, set())
            if not changed.size:
                continue
            size = storage.buffer.itemsize
            stale = lost_saves.unnoticed(storage, Cells.at(changed + address_of(storage.buffer) // size, size))
            if not stale:
                continue
            row = self._add(
                Site.of(frame),
                "numpy",
                None,
                before=storage.version,
                after=storage.version,
                verdicts=(Verdict.UNNOTICED,),
                stale=stale,
                instead=said(message("Write into a copy of the array, or run backward before the write.")),
            )
            before = message("Before this line, numpy or another library wrote.")
            row.happened = said(sentences([before, describe_write(row, "", "", False)]))

    def _on_write(self, site: Site, by: str, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any) -> None:
        if op == "backward" and self._taken is None:
            return  # backward accumulated into a gradient that no operation had saved
        taken, self._taken = self._taken or lost_saves.OverwrittenSaves(), None
        view = self._view(site, op, x)
        value = peek(x)
        recorded = modes.grad and value is not None and type(value) is not Leaf
        needs, kept = Needs(), NewSaves()
        if recorded and (node := node_of_write(x)) is not None:
            needs, kept = needs_of(op, wanted_of(op, node)), new_saves_of(op, node, inputs)
        in_layer = not recorded and modes.layer != ""
        unrecorded, owner = ("", "") if in_layer else self._why_unrecorded(x, recorded)
        below = memory_of(x)
        if self._shared.is_copied(below):
            self._shared.wrote(below, MINITENSOR.written(x, where))
        unseen = [] if below is x._storage else lost_saves.unnoticed(below, lost_saves.written_cells(x, where))
        if by == "a layer" and unrecorded == "leaf" and below.savers is None:
            unrecorded = "init"
        gone = taken.stale + ([] if modes.policy == "copy_on_write" else lost_saves.stale_by_version(x._storage))
        stale = [saved for _, _, saved in gone] + unseen
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
        facts = alternatives.Facts(
            op,
            x._array.nbytes,
            x._array.size,
            needs,
            kept.copied,
            kept.marked,
            preserved,
            lost_saves.preservable(x, where, taken.cells) if stale else 0,
            [saved.lost for _, _, saved in gone],
            by,
        )
        row = self._add(
            site,
            op,
            view,
            before=x._storage.version - 1,
            after=x._storage.version,
            recorded=recorded,
            verdicts=verdicts,
            rules=needs.rules,
            needs=needed(needs, kept.indexed > 0),
            why=reasons(needs),
            copied=kept.copied,
            marked=kept.marked,
            indexed=kept.indexed,
            preserved=preserved,
            preserved_for=taken.preserved_for,
            stale=stale,
            by=by,
        )
        refused = None if gone else self._pytorch.refuses(site, x, op, inputs, where, kept.copied, recorded)
        happened = describe_write(row, unrecorded, owner, in_layer)
        row.happened = said(sentences([happened, refused.why] if refused is not None else [happened]))
        is_update = unrecorded and not (unrecorded == "leaf" and stale)
        row.instead = alternatives.all_advice(
            facts, unrecorded if is_update else "", owner, refused is not None and refused.in_backward
        )
        if not self.report.left_out:
            for link, names, saved in gone:
                for what in names:
                    self._stale[id(link()), what] = link, row.number, saved

    def _why_unrecorded(self, x: Tensor, recorded: bool) -> tuple[str, str]:
        """Return the reason why autograd did not record a write to ``x``, and the tensor whose history lacks the write.

        The reason is a key of ``alternatives.UNRECORDED``. Both are "" if no history lacks the write.
        """
        node = peek(x)
        if not recorded and node is not None:
            if type(node) is Leaf:
                return ("set_value" if modes.grad else "leaf"), self._sharing.called(x)
            return "no_grad", self._sharing.called(x)
        for other in list(self._sharing.others(x)):
            if peek(other) is not None:
                return ("detached" if other._storage is x._storage else "data"), self._sharing.called(other)
        return "", ""

    def _on_meta(self, site: Site, x: Tensor, op: str) -> None:
        version = x._storage.version
        recorded = modes.grad and peek(x) is not None
        refused = self._pytorch.refuses_view(x, recorded)
        happened: list[Text] = [REBOUND.get(op, message("Only shape and strides have changed."))]
        self._add(
            site,
            op,
            self._view(site, op, x),
            before=version - 1 if op == "cast_" else version,
            after=version,
            recorded=recorded,
            verdicts=(Verdict.METADATA,),
            happened=said(sentences([*happened, refused] if refused is not None else happened)),
        )

    # ---------- errors ----------

    def _on_refused(self, site: Site, error: Exception, reason: str, op: str, x: Tensor, rest: tuple[Any, ...]) -> None:
        """Add a row for the in-place ``op`` on ``x``, which is about to raise; ``rest`` depends on the reason."""
        needs = needs_of(op, wanted_by(op, rest)) if reason == "needs_own_input" else Needs()
        version, array = x._storage.version, x._array
        self._add(
            site,
            op,
            self._view(site, op, x),
            before=version,
            after=version,
            verdicts=(Verdict.REFUSED,),
            rules=needs.rules,
            needs=needed(needs),
            why=reasons(needs),
            error=self._text_of(error),
            happened=said(message("Nothing was written.")),
            instead=alternatives.for_refusal(reason, alternatives.Facts(op, array.nbytes, array.size, needs)),
        )

    def _on_stale(self, site: Site, error: Exception, node: Node, what: str) -> None:
        """Add a row for a backward that is about to raise because a tensor saved by ``node`` is stale."""
        link, cause, entry = self._stale.get((id(node), what), (None, None, None))
        if link is not None and link() is not node:
            cause = entry = None
        happened = message("Backward needs a saved tensor that a write has made stale.")
        if entry is not None:
            entry.asked_for = True
            happened = message("Backward needs {saved}; row {row} made it stale.", saved=str(entry), row=cause or 0)
        text = self._text_of(error)
        self._add(site, "backward", None, verdicts=(Verdict.RAISES,), error=text, happened=said(happened), cause=cause)

    def ended(self, error: BaseException) -> None:
        """Add a row for the ``error`` that ended the program, unless the error already has a row."""
        if not self._open or self._last_error == (id(error), str(error)):
            return
        user, traceback = None, error.__traceback__
        while traceback is not None:
            frame = traceback.tb_frame
            if not is_engines(frame):
                user = Site(frame.f_code, traceback.tb_lasti, frame.f_globals)
            traceback = traceback.tb_next
        if user is None:
            user = Site.of(sys._getframe(2))
        text = self._text_of(error)
        self._add(user, "", None, verdicts=(Verdict.RAISES,), error=text, happened=said(message("The program ended.")))

    def _text_of(self, error: BaseException) -> str:
        self._last_error = id(error), str(error)
        return f"{type(error).__name__}: {error}"


def listener_of_cell(parts: Iterable[CodeType], names: dict[str, Any]) -> Listener:
    """Return a listener that knows the tensors to which a cell refers."""
    mentioned = dict.fromkeys(name for code in parts for name in names_in(code))
    return Listener([found for name in mentioned if name in names for found in tensors_in(name, names[name])])
