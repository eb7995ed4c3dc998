"""Run programs on several ranks from one notebook. The ranks are engines of ipyparallel that MPI starts.

    from book_kit import ranks
    ranks.start(4, recorded="../facts/ranks.json")

    %%ranks 2                           # or ranks.run("print(rank)", 2)
    x = mt.ones([2]) * (rank + 1.0)
    dist.all_reduce(x)
    print(x.tolist())

* A cell can use the names ``mt``, ``dist`` (``minitensor.distributed``), ``np``, ``rank``, ``size`` and ``comm``
  (mpi4py's communicator). Later cells can use the names that a cell assigns. ``%%ranks 2`` runs on the ranks 0 and 1.
* If MPI is not installed, :func:`run` returns recorded answers of the same program, and the output says that they are
  recorded.
* If a rank ends or does not finish in time, the error contains the number of the rank, and all ranks are ended. All
  ranks end when the notebook ends.

Only :func:`start` needs ipyparallel and mpi4py.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from book_kit.ranks.cluster import Cluster, RankAnswer, RankLostError
from memory_stage.messages import Text, joined, message, plural, said

#: The default number of seconds after which a program is stopped.
RUNNING = 60.0
NEEDED = ("ipyparallel", "mpi4py")


@dataclass(frozen=True)
class StartedRanks:
    """The ranks that :func:`start` started, or the record that replaces them."""

    count: int
    about: str
    recorded: bool

    def __str__(self) -> str:
        if self.recorded:
            return said(message("Recorded: {about}", about=self.about))
        return said(message("{count} ranks: {about}", count=self.count, about=self.about))


@dataclass
class _State:
    """The ranks or the record of this notebook.

    Attributes:
        cluster: the running ranks. None before `start`, after `stop`, after a rank was lost, and if a record replaces
            the ranks.
        record: the recorded programs, keyed by `key_of`. None if there is no record, or if ranks run.
        started: the result of `start`, or None if it was not called.
        said: the answers of all programs since `start`, in the form that `save` writes. None if no ranks were started.
    """

    cluster: Cluster | None = None
    record: dict[str, Any] | None = None
    started: StartedRanks | None = None
    said: dict[str, Any] | None = None


_state = _State()


def start(count: int = 4, recorded: str | Path | None = None) -> StartedRanks:
    """Start ``count`` ranks on this machine, or read the record if MPI is not installed.

    Args:
        count: the number of ranks. A program can run on all of them or on fewer.
        recorded: a file that :func:`save` has written.

    Returns:
        A description of the ranks for the notebook to display.

    Raises:
        ImportError: if neither MPI nor a record is available. The message lists the packages to install.
    """
    stop()
    missing = _missing()
    if missing and recorded is None:
        raise ImportError(f"{missing}. Several ranks need `pip install ipyparallel mpi4py mpich`.")
    if missing:
        record = json.loads(Path(str(recorded)).read_text(encoding="utf-8"))
        _state.record = record["programs"]
        about = message(
            "{versions}, on {date}. Here {missing}; `pip install ipyparallel mpi4py mpich`.",
            versions=record["with"],
            date=record["date"],
            missing=missing,
        )
        _state.started = StartedRanks(count, said(about), True)
    else:
        _state.cluster = Cluster(count, _mpiexec() or "")
        _state.said = {}
        _state.started = StartedRanks(count, _versions(), False)
    return _state.started


def run(source: str, count: int | None = None, timeout: float = RUNNING) -> list[RankAnswer]:
    """Run a program on the first ``count`` ranks (by default on all), and return a list with the answer of each rank.

    Raises:
        RankLostError: if a rank ends, or does not finish in ``timeout`` seconds. The message has the rank's number.
        RuntimeError: if :func:`start` was not called, if :func:`stop` was called after it, or if the record does not
            contain this program.
        ValueError: if ``count`` is not between 1 and the number of ranks.
    """
    if _state.started is None:
        raise RuntimeError("no ranks have been started: `ranks.start(4)` starts four")
    count = _state.started.count if count is None else count
    if not 1 <= count <= _state.started.count:
        raise ValueError(f"the number of ranks must be from 1 to {_state.started.count}, not {count}")
    key = key_of(source, count)
    if _state.record is not None:
        if key not in _state.record:
            raise RuntimeError(
                "the record does not contain this program: `pip install ipyparallel mpi4py mpich` to run it"
            )
        entry = _state.record[key]
        if "lost" in entry:
            raise RankLostError(entry["text"], entry["lost"])
        return [RankAnswer(**each) for each in entry["said"]]
    if _state.cluster is None or _state.said is None:
        raise RuntimeError("the ranks have been stopped: `ranks.start(4)` starts new ones")
    try:
        answers = _state.cluster.run(source, count, timeout)
    except RankLostError as error:
        _state.said[key] = {"source": source, "ranks": count, "lost": error.ranks, "text": str(error)}
        _state.cluster = None
        raise
    _state.said[key] = {"source": source, "ranks": count, "said": [asdict(each) for each in answers]}
    return answers


def stop() -> None:
    """End all ranks. Without this call they end with the notebook."""
    cluster, _state.cluster, _state.record = _state.cluster, None, None
    if cluster is not None:
        cluster.stop()


def save(file: str | Path) -> None:
    """Write the answers of all programs since :func:`start` to a file, with versions and the date."""
    if _state.said is None:
        raise RuntimeError("no program has run on ranks, so there is nothing to save: `ranks.start(4)` starts four")
    record = {"with": _versions(), "date": date.today().isoformat(), "programs": _state.said}
    Path(file).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def started() -> StartedRanks | None:
    """Return the result of :func:`start`, or None if it was not called."""
    return _state.started


def key_of(source: str, count: int) -> str:
    """Return the key of a program in the record, a hash of its text and of the number of ranks."""
    return hashlib.sha256(f"{count}\n{source.strip()}".encode()).hexdigest()[:16]


def why_not() -> str:
    """Return the reason why ranks cannot start on this machine, or an empty text if they can."""
    return str(_missing())


def _missing() -> Text:
    """Return a message with the reason why ranks cannot start, for a sentence in any language; "" if they can."""
    if sys.platform == "win32":
        return message("MPI is not looked for on Windows")
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        return plural("{names} is not installed", "{names} are not installed", len(absent), names=joined(absent))
    return "" if _mpiexec() else message("there is no mpiexec")


def _mpiexec() -> str | None:
    """Return the path of the command that starts ranks, or None. The folder of this interpreter is searched first."""
    return shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def _versions() -> str:
    names = ("mpich", "mpi4py", "ipyparallel", "minitensor")
    known = [f"{name} {version(name)}" for name in names if importlib.util.find_spec(name) or name == "mpich"]
    return f"{', '.join(known)}, Python {platform.python_version()}, {os.cpu_count()} cores"
