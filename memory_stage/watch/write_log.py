"""The lines that wrote each storage, as a table that stays small however often they run."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

MOST_STORAGES = 20_000  # storages remembered; the one written longest ago is forgotten first
ANYWHERE = (0, 2**64)
MOST_LINES = 64  # lines remembered for one storage


@dataclass(slots=True)
class LineWrites:
    """Writes of one storage by one operation in one line.

    Attributes:
        line: the index of the line (:class:`~memory_stage.watch.lines.Lines`).
        operation: its name, such as ``add_``.
        count: how often it ran.
        first, last: the times of the first and the last of these writes.
        version: the version that the last of them left.
        is_counted: False if the framework did not raise the version of the tensors that share the storage.
        begin, end: addresses of the first byte written and of the byte after the last one.
    """

    line: int
    operation: str
    count: int
    first: int
    last: int
    version: int
    is_counted: bool
    begin: int
    end: int


class WriteLog:
    """Which lines wrote which storages.

    A storage is known by its address. Once a storage is freed, another one may have the same address. The
    times of the writes keep them apart: a tensor that a node saved is alive from the time of the node on.
    """

    def __init__(self) -> None:
        self._storages: OrderedDict[int, dict[tuple[int, str, bool], LineWrites]] = OrderedDict()
        #: How often each line has run each operation in place: (line, operation) -> number of writes.
        self.totals: Counter[tuple[int, str]] = Counter()
        #: The time of the last write that raised no version.
        self.last_uncounted = -1

    def add(
        self,
        storage: int,
        line: int,
        operation: str,
        time: int,
        version: int,
        is_counted: bool = True,
        extent: tuple[int, int] = ANYWHERE,
        is_overwriting: bool = True,
    ) -> None:
        """Record a write.

        Args:
            storage: the address of the written storage.
            line: the index of the line.
            operation: the name of the operation.
            time: a number that rises with each write and each new node.
            version: the version of the written tensor after the write.
            is_counted: False if the write raised no version.
            extent: addresses of the first byte written and of the byte after the last one.
            is_overwriting: False for an operation that changes no number, such as ``detach_``.
        """
        if is_overwriting:
            self.totals[line, operation] += 1
        lines = self._storages.get(storage)
        if lines is None:
            lines = self._storages[storage] = {}
            if len(self._storages) > MOST_STORAGES:
                self._storages.popitem(last=False)
        else:
            self._storages.move_to_end(storage)
        if not is_counted:
            self.last_uncounted = time
        key = (line, operation, is_counted)
        writes = lines.get(key)
        if writes is None:
            if len(lines) >= MOST_LINES:
                del lines[min(lines, key=lambda each: lines[each].last)]
            lines[key] = LineWrites(line, operation, 1, time, time, version, is_counted, *extent)
        else:
            writes.count += 1
            writes.last, writes.version = time, version
            writes.begin, writes.end = min(writes.begin, extent[0]), max(writes.end, extent[1])

    def since(self, storage: int, time: int) -> list[LineWrites]:
        """Return the writes of a storage that may have happened after ``time``, the earliest first."""
        lines = self._storages.get(storage, {})
        return sorted((each for each in lines.values() if each.last > time), key=lambda each: each.last)

    def __len__(self) -> int:
        return len(self._storages)

    def __iter__(self) -> Iterator[int]:
        return iter(self._storages)
