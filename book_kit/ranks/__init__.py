"""Several processes under one notebook: engines of ipyparallel that MPI has started, each of them a rank.

    from book_kit import ranks
    ranks.start(4, recorded="../facts/ranks.json")

    %%ranks 2                           # or ranks.run("print(rank)", 2)
    x = mt.ones([2]) * (rank + 1.0)
    dist.all_reduce(x)
    print(x.tolist())

* A cell runs on the first so many ranks, with ``mt``, ``dist`` (``minitensor.distributed``), ``np``, ``rank``, ``size``
  and ``comm``, mpi4py's communicator; its names stay on the ranks for the next cell.
* Where MPI is not installed, :func:`run` answers with what was recorded of that very program, and says so.
* A rank that ends, or does not come to an end, is named; then all are ended. None outlives the notebook.

ipyparallel and mpi4py are asked for by :func:`start` alone.
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

from book_kit.ranks.cluster import Answer, Cluster, RankLostError

#: Seconds for a program, unless told.
RUNNING = 60.0
NEEDED = ("ipyparallel", "mpi4py")


@dataclass(frozen=True)
class Started:
    """What :func:`start` found."""

    count: int
    about: str
    recorded: bool

    def __str__(self) -> str:
        if self.recorded:
            return f"Recorded: {self.about}"
        return f"{self.count} ranks: {self.about}"


@dataclass
class _State:
    """What this notebook has started, or has a record of; and what every program has said so far."""

    cluster: Cluster | None = None
    record: dict[str, Any] | None = None
    started: Started | None = None
    said: dict[str, Any] | None = None


_state = _State()


def start(count: int = 4, recorded: str | Path | None = None) -> Started:
    """Start ``count`` ranks on this machine, or take the record, where MPI is not installed.

    Args:
        count: how many ranks there may be at most.
        recorded: a file that :func:`save` has written.

    Returns:
        What there is, to be shown.

    Raises:
        ImportError: where neither MPI nor a record is there; it says what to install.
    """
    stop()
    missing = why_not()
    if missing and recorded is None:
        raise ImportError(f"{missing}. `pip install ipyparallel mpi4py mpich` installs all that several ranks need.")
    if missing:
        record = json.loads(Path(str(recorded)).read_text(encoding="utf-8"))
        _state.record = record["programs"]
        about = f"{record['with']}, on {record['date']}. Here {missing}; `pip install ipyparallel mpi4py mpich`."
        _state.started = Started(count, about, True)
    else:
        _state.cluster = Cluster(count, _mpiexec() or "")
        _state.said = {}
        _state.started = Started(count, _versions(), False)
    return _state.started


def run(source: str, count: int | None = None, timeout: float = RUNNING) -> list[Answer]:
    """Run a program on the first ``count`` ranks (all of them unless told): the answers, by rank.

    Raises:
        RankLostError: when a rank ends, or does not come to an end in ``timeout`` seconds; names it.
        RuntimeError: before :func:`start`; when nothing was recorded of this program.
    """
    if _state.started is None:
        raise RuntimeError("no ranks have been started: `ranks.start(4)` starts four")
    count = _state.started.count if count is None else count
    if not 1 <= count <= _state.started.count:
        raise ValueError(f"a program runs on 1 to {_state.started.count} ranks, not on {count}")
    key = key_of(source, count)
    if _state.record is not None:
        if key not in _state.record:
            raise RuntimeError("nothing was recorded of this program; with ipyparallel, mpi4py and mpich it runs")
        entry = _state.record[key]
        if "lost" in entry:
            raise RankLostError(entry["text"], entry["lost"])
        return [Answer(**each) for each in entry["said"]]
    if _state.cluster is None or _state.said is None:
        raise RuntimeError("the ranks have been ended: `ranks.start(4)` starts others")
    try:
        answers = _state.cluster.run(source, count, timeout)
    except RankLostError as error:
        _state.said[key] = {"source": source, "ranks": count, "lost": error.ranks, "text": str(error)}
        _state.cluster = None
        raise
    _state.said[key] = {"source": source, "ranks": count, "said": [asdict(each) for each in answers]}
    return answers


def stop() -> None:
    """End all ranks, if there are any. The end of the notebook does it, too."""
    cluster, _state.cluster, _state.record = _state.cluster, None, None
    if cluster is not None:
        cluster.stop()


def save(file: str | Path) -> None:
    """Write what every program has said since :func:`start`, with versions and date."""
    if _state.said is None:
        raise RuntimeError("no ranks have run here: there is nothing to save")
    record = {"with": _versions(), "date": date.today().isoformat(), "programs": _state.said}
    Path(file).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def started() -> Started | None:
    """What :func:`start` found; None before it."""
    return _state.started


def key_of(source: str, count: int) -> str:
    """What a program is recorded under: another text, or another number of ranks, is another program."""
    return hashlib.sha256(f"{count}\n{source.strip()}".encode()).hexdigest()[:16]


def why_not() -> str:
    """What is missing for ranks on this machine, in words; empty where nothing is."""
    if sys.platform == "win32":
        return "MPI is not looked for on Windows"
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        return f"{' and '.join(absent)} {'are' if len(absent) > 1 else 'is'} not installed"
    return "" if _mpiexec() else "there is no mpiexec"


def _mpiexec() -> str | None:
    """The command that starts ranks: of this environment first."""
    return shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def _versions() -> str:
    names = ("mpich", "mpi4py", "ipyparallel", "minitensor")
    known = [f"{name} {version(name)}" for name in names if importlib.util.find_spec(name) or name == "mpich"]
    return f"{', '.join(known)}, Python {platform.python_version()}, {os.cpu_count()} cores"
