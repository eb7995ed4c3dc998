"""The processes behind :mod:`book_kit.ranks`: a controller of ipyparallel, and engines that MPI starts."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

#: Seconds: for the engines to start, and for ranks that were told to end.
STARTING, ENDING = 120.0, 5.0
#: An engine is there from its second heartbeat on: milliseconds between two, and how many it may miss, half a minute's.
BEAT, MISSES = 200, 150

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


class Cluster:
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
        # A second process for each engine would tell of its end: `run` looks itself, and half of the start is saved.
        config.EngineLauncher.engine_args = ["--IPEngine.enable_nanny=False"]
        config.EngineLauncher.environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._cluster = ipp.Cluster(
            engines="mpi",
            n=count,
            controller_ip="127.0.0.1",
            profile_dir=self._folder.name,
            log_level=50,  # what goes wrong is raised
            engine_timeout=STARTING,
            controller_args=[f"--HeartMonitor.period={BEAT}", f"--HeartMonitor.max_heartmonitor_misses={MISSES}"],
            config=config,
        )
        self._client: Any = None
        self.pids: list[int] = []
        try:
            self._cluster.start_cluster_sync()
            self._client = self._cluster.connect_client_sync()
            # No bar of progress: in a notebook it would be a widget, whose state every saved page would carry.
            self._client.wait_for_engines(count, timeout=STARTING, interactive=False)
            self._client[:].execute(ON_RANK, block=True)
            pids = self._client[:].apply_sync(ipp.Reference("_stay_with"), os.getpid(), self._cluster.controller.pid)
            self.pids = list(pids)
        except BaseException:
            self.stop()
            raise

    def run(self, source: str, count: int, timeout: float) -> list[Answer]:
        """The answers of the first ``count`` ranks; stops all and raises where one does not answer."""
        call, ends = self._ipp.Reference("_run"), _Ends(self.pids)
        calls = [self._client[rank].apply_async(call, source, count, timeout / 2) for rank in range(count)]
        end = time.monotonic() + timeout
        try:
            while True:
                done = all(each.ready() for each in calls)
                lost = ends.first_of(self._lost(calls))  # MPI ends the others soon after it
                if done or lost or time.monotonic() > end:
                    break
                time.sleep(0.01)
            if lost:
                raise RankLostError(f"{_named(lost)} ended while the cell ran. All are ended.", lost)
            if late := [rank for rank, each in enumerate(calls) if not each.ready()]:
                text = f"{_named(late)} did not come to an end in {timeout:g} s. All are ended."
                raise RankLostError(text, late)
        except BaseException:
            self.stop()
            raise
        finally:
            ends.close()
        return [Answer(**each.get()) for each in calls]

    def _lost(self, calls: list[Any]) -> list[int]:
        """Which ranks have ended before their call has."""
        asked = zip(self.pids, calls, strict=False)
        return [
            rank for rank, (pid, each) in enumerate(asked) if not (each.successful() if each.ready() else _alive(pid))
        ]

    def stop(self) -> None:
        """End all processes; those that do not end when they are told to are killed. None is left when it returns."""
        controller = getattr(self._cluster.controller, "pid", None)
        pids = [*self.pids, *([controller] if controller else [])]
        with suppress(Exception):  # what has ended already cannot be told to end
            self._cluster.stop_cluster_sync()
        if self._client is not None:
            self._client.close()
        for pid in _left_after(ENDING, pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _left_after(ENDING, pids)  # a process that is killed is there a moment longer
        self.pids = []
        self._folder.cleanup()


class _Ends:
    """In which order processes come to their end, as the kernel tells it: Linux only."""

    def __init__(self, pids: list[int]) -> None:
        self._ranks: dict[int, int] = {}  # the descriptor of a process -> its place among ``pids``
        self._order: list[int] = []
        self._queue = queue = select.epoll() if hasattr(os, "pidfd_open") else None
        if queue is None:
            return
        for rank, pid in enumerate(pids):
            with suppress(ProcessLookupError):
                self._ranks[descriptor := os.pidfd_open(pid)] = rank
                queue.register(descriptor, select.EPOLLIN | select.EPOLLONESHOT)

    def first_of(self, lost: list[int]) -> list[int]:
        """That of the processes ``lost`` which ended first; all of them where it is not known."""
        if self._queue is not None:
            self._order += [self._ranks[descriptor] for descriptor, _ in self._queue.poll(0)]
        return [rank for rank in self._order if rank in lost][:1] or lost

    def close(self) -> None:
        """Look no longer."""
        if self._queue is not None:
            self._queue.close()
        for descriptor in self._ranks:
            os.close(descriptor)


def _is_hydra(mpiexec: str) -> bool:
    said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    return "HYDRA" in said


def _alive(pid: int) -> bool:
    """Whether there is such a process, other than a dead one of whom its parent has not heard yet."""
    import psutil  # ipyparallel needs it, too

    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _left_after(seconds: float, pids: list[int]) -> list[int]:
    """Those that have not ended within ``seconds``; as soon as all have, none."""
    end = time.monotonic() + seconds
    while (alive := [pid for pid in pids if _alive(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    return alive


def _named(ranks: list[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}".capitalize()
