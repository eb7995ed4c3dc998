"""The lines that wrote each storage, in a table whose size does not depend on how often the lines run."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

# the largest number of storages; at the limit, the one that was written longest ago is forgotten
MOST_STORAGES = 20_000
ANYWHERE = (0, 2**64)
MOST_LINES = 64  # the largest number of lines for one storage


@dataclass(slots=True)
class LineWrites:
    """All writes to one storage by one operation in one line.

    Attributes:
        line: the index of the line (:class:`~memory_stage.watch.lines.Lines`).
        operation: the name of the operation, such as ``add_``.
        count: the number of these writes.
        first, last: the times of the first and the last of these writes.
        version: the version after the last of these writes.
        is_counted: False if the framework did not increment the version of the tensors that share the storage.
        begin, end: the addresses of the first written byte and of the byte after the last one.
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
    """The lines that wrote each storage.

    A storage is identified by its address. Once the storage is freed, another one may get this address. The times of
    the writes distinguish the two, because the storage of a saved tensor has existed since the node was created.
    """

    def __init__(self) -> None:
        self._storages: OrderedDict[int, dict[tuple[int, str, bool], LineWrites]] = OrderedDict()
        #: Maps a line and an in-place operation to the number of its writes.
        self.totals: Counter[tuple[int, str]] = Counter()
        #: The time of the last write that the framework's check of versions may miss.
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
            time: the number of writes so far, including this one.
            version: the version of the written tensor after the write.
            is_counted: False if the write incremented no version.
            extent: the addresses of the first written byte and of the byte after the last one.
            is_overwriting: False for an operation that changes no numbers, such as ``detach_``.
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
        """Return a storage's entries with a last write after ``time``, in the order of these writes."""
        lines = self._storages.get(storage, {})
        return sorted((each for each in lines.values() if each.last > time), key=lambda each: each.last)

    def __len__(self) -> int:
        return len(self._storages)

    def __iter__(self) -> Iterator[int]:
        return iter(self._storages)
