"""Diagnose the faults of a watched run of PyTorch from its logs and graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch

from memory_stage.engines.torch.node_names import short_name
from memory_stage.explanation.whole_run import (
    aliased_averages,
    aliased_networks,
    array_faults,
    copied_losses,
    freed_graph,
    kept_objects,
    leaks,
    overwritten,
)
from memory_stage.explanation.whole_run.faults import Fault, FaultCollector
from memory_stage.explanation.whole_run.leaks import FunctionLeaks
from memory_stage.explanation.whole_run.program_names import address_of, is_tensor
from memory_stage.explanation.whole_run.references import StateDicts
from memory_stage.messages import Text, message
from memory_stage.watch.lines import UNKNOWN_LINE, ProgramLine
from memory_stage.watch.torch.backward_graph import node_of, nodes_behind, saved_by
from memory_stage.watch.torch.shared_arrays import IMPORTS
from memory_stage.watch.torch.watched_run import WatchedRun


class TorchDiagnosis:
    """Watches a run of PyTorch from :meth:`begin` to :meth:`end`; see :class:`.diagnosis.FrameworkDiagnosis`.

    Args:
        note: called with a sentence about something that could not be watched.
    """

    def __init__(self, collector: FaultCollector, note: Callable[[Text], None]) -> None:
        self._collector = collector
        self._run = WatchedRun(self._on_failure, self._on_suspicion, note)
        self._state_dicts = StateDicts(self._run, collector)
        self._known: set[Any] = set()  # keys of the silent faults that were found
        self._graphs = _TorchGraphs(self._run)
        self._local_leaks = FunctionLeaks(self._graphs, self._run.lines, collector)

    @property
    def failure(self) -> Exception | None:
        return self._run.failure

    def begin(self) -> None:
        self._state_dicts.subscribe()
        self._run.__enter__()
        self._local_leaks.subscribe()

    def end(self) -> None:
        self._local_leaks.unsubscribe()
        self._run.__exit__(None, None, None)
        self._state_dicts.unsubscribe()

    def diagnose_end(self, variables: dict[str, Any], file: str) -> list[Fault]:
        found = self._local_leaks.with_local(leaks.diagnose_end(self._graphs, variables, file))
        found += array_faults.diagnose_readonly(self._run.arrays.readonly_writes, self._run.lines)
        found += array_faults.diagnose_repeated(self._run.arrays.repeated_writes, self._run.lines)
        passes = {(line.file, line.number) for line in (self._run.lines[each.line] for each in self._run.passes)}
        found += kept_objects.diagnose_gradients(variables, file, is_tensor, passes)
        found += kept_objects.diagnose_repeated(variables, file, is_tensor)
        found += kept_objects.diagnose_shared_entries(variables, file, is_tensor, self._imported_in)
        found += aliased_averages.diagnose_end(variables, file)
        found += aliased_networks.diagnose_end(variables, file)
        return [*found, *aliased_networks.diagnose_replaced(variables, file)]

    def _imported_in(self, x: torch.Tensor) -> ProgramLine | None:
        shared = self._run.arrays.find(address_of(x))
        return None if shared is None or shared.function not in IMPORTS else self._run.lines[shared.line]

    def made_in(self, x: Any) -> ProgramLine:
        node = node_of(x) if isinstance(x, torch.Tensor) else None
        return UNKNOWN_LINE if node is None else self._run.line_of_node(node)

    def written_lines(self) -> Iterator[tuple[ProgramLine, str, int]]:
        for (line, operation), count in self._run.writes.totals.items():
            yield self._run.lines[line], operation, count

    def nodes_made(self) -> int:
        return torch._C._autograd._get_sequence_nr()

    def _on_failure(self, run: WatchedRun, roots: Any, error: BaseException, frame: FrameType) -> None:
        def diagnose() -> list[Fault | None]:
            fault = overwritten.diagnose_error(run, roots, error, frame)
            return [fault or freed_graph.diagnose_error(run, roots, error, frame)]

        self._collector.explain(error, message("an error of a backward pass"), diagnose)

    def _on_suspicion(self, run: WatchedRun, roots: Any, frame: FrameType) -> None:
        def diagnose() -> list[Fault]:
            found = overwritten.diagnose_silence(run, roots, frame, self._known)
            return found + copied_losses.diagnose(run, roots, frame, self._known)

        self._collector.collect(message("a backward pass"), diagnose)


class _TorchGraphs:
    """The graphs that tensors of PyTorch hold; see :class:`.leaks.HeldGraphs`."""

    def __init__(self, run: WatchedRun) -> None:
        self._run = run

    def is_tensor(self, value: Any) -> bool:
        return is_tensor(value)

    def holds_graph(self, x: torch.Tensor) -> bool:
        node = node_of(x)
        return node is not None and node._sequence_nr() >= self._run.first_unretained

    def addition_lines(self, x: torch.Tensor) -> list[ProgramLine]:
        made = [node for node in nodes_behind(x) if short_name(node.name()) in ("add", "sub", "cat")]
        return [self._run.line_of_node(node) for node in made]

    def node_count(self, tensors: list[torch.Tensor]) -> int:
        return sum(1 for _ in nodes_behind(tensors))

    def held_bytes(self, tensors: list[torch.Tensor]) -> int:
        storages: dict[int, int] = {}
        for node in nodes_behind(tensors):
            for saved in saved_by(node):
                x = saved.data
                if not (x.is_leaf and x.requires_grad) and not isinstance(x, torch.nn.Parameter):
                    storages[torch._C._storage_address(x)] = x.untyped_storage().nbytes()
        return sum(storages.values())
