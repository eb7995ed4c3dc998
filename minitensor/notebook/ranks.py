"""Several processes under one notebook: engines of ipyparallel that MPI has started, each of them a rank.

    from minitensor.notebook import ranks
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
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

#: Seconds: for the engines to start, for a program, and for ranks that were told to end.
STARTING, RUNNING, ENDING = 120.0, 60.0, 5.0
NEEDED = ("ipyparallel", "mpi4py")

#: What each rank runs first. A thread of it ends the rank, and rank 0 the controller, when the notebook is gone.
ON_RANK = """
import ast, contextlib, io, json, linecache, os, signal, threading, time
import numpy as np
from mpi4py import MPI
import minitensor as mt
from minitensor import distributed as dist

_world = MPI.COMM_WORLD
_groups = [_world.Split(int(_world.rank < count), _world.rank) for count in range(1, _world.size + 1)]
_names = {"mt": mt, "dist": dist, "np": np}
_runs = iter(range(1, 1_000_000))

def _end_with(notebook, controller):
    while True:
        time.sleep(1.0)
        try:
            os.kill(notebook, 0)
        except ProcessLookupError:
            if _world.rank == 0:
                os.kill(controller, signal.SIGTERM)
            os._exit(1)

def _stay_with(notebook, controller):
    threading.Thread(target=_end_with, args=(notebook, controller), daemon=True).start()
    return os.getpid()

def _run(source, count, patience):
    dist.init_parallel_env(_groups[count - 1], timeout=patience)
    _names.update(rank=dist.get_rank(), size=count, comm=_groups[count - 1])
    file = f"<ranks {next(_runs)}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    printed, value, error = io.StringIO(), None, None
    with contextlib.redirect_stdout(printed):
        try:
            tree = ast.parse(source, file)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, file, "exec"), _names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), file, "eval"), _names)
                json.dumps(value)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return {"printed": printed.getvalue(), "value": value, "error": error}
"""


class RankLostError(RuntimeError):
    """A rank has ended, or has not come to an end.

    Attributes:
        ranks: which.
    """

    def __init__(self, text: str, ranks: list[int]) -> None:
        super().__init__(text)
        self.ranks = ranks


@dataclass(frozen=True)
class Answer:
    """What one rank did with a program: what it printed, the value of its last expression, and the error, if any."""

    printed: str
    value: Any
    error: str | None


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


class _Cluster:
    """The engines, and what is known of them."""

    def __init__(self, count: int, mpiexec: str) -> None:
        import ipyparallel as ipp
        from traitlets.config import Config

        self.count, self._ipp = count, ipp
        self._folder = tempfile.TemporaryDirectory()
        config: Any = Config()
        config.MPILauncher.mpi_cmd = [mpiexec]
        if _is_hydra(mpiexec):  # otherwise the end of one rank ends all, and nobody can tell which was the first
            config.MPILauncher.mpi_args = ["-disable-auto-cleanup"]
        config.EngineLauncher.environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._cluster = ipp.Cluster(
            engines="mpi",
            n=count,
            controller_ip="127.0.0.1",
            profile_dir=self._folder.name,
            log_level=50,  # what goes wrong is raised
            engine_timeout=STARTING,
            config=config,
        )
        self._client: Any = None
        self.pids: list[int] = []
        try:
            self._client = self._cluster.start_and_connect_sync(activate=False)
            self._client[:].execute(ON_RANK, block=True)
            pids = self._client[:].apply_sync(ipp.Reference("_stay_with"), os.getpid(), self._cluster.controller.pid)
            self.pids = list(pids)
        except BaseException:
            self.stop()
            raise

    def run(self, source: str, count: int, timeout: float) -> list[Answer]:
        """The answers of the first ``count`` ranks; stops all and raises where one does not answer."""
        call = self._ipp.Reference("_run")
        calls = [self._client[rank].apply_async(call, source, count, timeout / 2) for rank in range(count)]
        end = time.monotonic() + timeout
        try:
            while not all(each.ready() for each in calls) and not _failed(calls) and time.monotonic() < end:
                time.sleep(0.01)
            if lost := _failed(calls):  # the first; MPI may end the others with it, a third of a second later
                raise RankLostError(f"{_named(lost)} ended while the cell ran. All are ended.", lost)
            if late := [rank for rank, each in enumerate(calls) if not each.ready()]:
                text = f"{_named(late)} did not come to an end in {timeout:g} s. All are ended."
                raise RankLostError(text, late)
        except BaseException:
            self.stop()
            raise
        return [Answer(**each.get()) for each in calls]

    def stop(self) -> None:
        """End all processes; those that do not end when they are told to are killed."""
        with suppress(Exception):  # what has ended already cannot be told to end
            self._cluster.stop_cluster_sync()
        if self._client is not None:
            self._client.close()
        end = time.monotonic() + ENDING
        while (alive := [pid for pid in self.pids if _alive(pid)]) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.pids = []
        self._folder.cleanup()


@dataclass
class _State:
    """What this notebook has started, or has a record of; and what every program has said so far."""

    cluster: _Cluster | None = None
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
        _state.cluster = _Cluster(count, _mpiexec() or "")
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
        return [Answer(**each) for each in entry["answers"]]
    if _state.cluster is None or _state.said is None:
        raise RuntimeError("the ranks have been ended: `ranks.start(4)` starts others")
    try:
        answers = _state.cluster.run(source, count, timeout)
    except RankLostError as error:
        _state.said[key] = {"source": source, "ranks": count, "lost": error.ranks, "text": str(error)}
        _state.cluster = None
        raise
    _state.said[key] = {"source": source, "ranks": count, "answers": [asdict(each) for each in answers]}
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


def _is_hydra(mpiexec: str) -> bool:
    said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    return "HYDRA" in said


def _versions() -> str:
    names = ("mpich", "mpi4py", "ipyparallel", "minitensor")
    known = [f"{name} {version(name)}" for name in names if importlib.util.find_spec(name) or name == "mpich"]
    return f"{', '.join(known)}, Python {platform.python_version()}, {os.cpu_count()} cores"


def _failed(calls: list[Any]) -> list[int]:
    """Which ranks have ended."""
    return [rank for rank, each in enumerate(calls) if each.ready() and not each.successful()]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _named(ranks: list[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}".capitalize()
