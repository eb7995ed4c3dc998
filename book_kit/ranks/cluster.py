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

#: The seconds in which the engines must start, and in which ranks must end after a request.
STARTING, ENDING = 120.0, 5.0
#: The milliseconds between two heartbeats, and how many heartbeats an engine may miss. Their product is half a minute.
#: The interval is short because an engine is registered only at its second heartbeat.
BEAT, MISSES = 200, 150

#: The first program of each rank. Its function ``_stay_with`` starts a thread that ends the rank when the notebook has
#: ended. On rank 0 this thread also ends the controller.
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
    """Raised if a rank has ended, or has not finished in time.

    Attributes:
        ranks: the numbers of the lost ranks.
    """

    def __init__(self, text: str, ranks: list[int]) -> None:
        super().__init__(text)
        self.ranks = ranks


@dataclass(frozen=True)
class RankAnswer:
    """The result of a program on one rank: its output, the value of its last expression, and the error or None."""

    printed: str
    value: Any
    error: str | None


class Cluster:
    """The engines of ipyparallel, their controller and their process ids."""

    def __init__(self, count: int, mpiexec: str) -> None:
        import ipyparallel as ipp
        from traitlets.config import Config

        self.count, self._ipp = count, ipp
        self._folder = tempfile.TemporaryDirectory()
        config: Any = Config()
        config.MPILauncher.mpi_cmd = [mpiexec]
        # By default mpich ends all ranks as soon as one has ended. Then one cannot tell which rank ended first.
        if _is_hydra(mpiexec):
            config.MPILauncher.mpi_args = ["-disable-auto-cleanup"]
        # By default ipyparallel starts a second process for each engine, which reports the engine's end. `run` notices
        # the end itself, and without these processes the start takes half the time.
        config.EngineLauncher.engine_args = ["--IPEngine.enable_nanny=False"]
        config.EngineLauncher.environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._cluster = ipp.Cluster(
            engines="mpi",
            n=count,
            controller_ip="127.0.0.1",
            profile_dir=self._folder.name,
            log_level=50,  # errors are raised, so they need no log
            engine_timeout=STARTING,
            controller_args=[f"--HeartMonitor.period={BEAT}", f"--HeartMonitor.max_heartmonitor_misses={MISSES}"],
            config=config,
        )
        self._client: Any = None
        self.pids: list[int] = []
        try:
            self._cluster.start_cluster_sync()
            self._client = self._cluster.connect_client_sync()
            # In a notebook a progress bar would be a widget, and every saved page would contain the widget's state.
            self._client.wait_for_engines(count, timeout=STARTING, interactive=False)
            self._client[:].execute(ON_RANK, block=True)
            pids = self._client[:].apply_sync(ipp.Reference("_stay_with"), os.getpid(), self._cluster.controller.pid)
            self.pids = list(pids)
        except BaseException:
            self.stop()
            raise

    def run(self, source: str, count: int, timeout: float) -> list[RankAnswer]:
        """Return the answers of the first ``count`` ranks. If a rank does not answer, stop all ranks and raise
        RankLostError.
        """
        call, ends = self._ipp.Reference("_run"), _Ends(self.pids)
        calls = [self._client[rank].apply_async(call, source, count, timeout / 2) for rank in range(count)]
        end = time.monotonic() + timeout
        try:
            while True:
                done = all(each.ready() for each in calls)
                lost = _first_lost(calls, ends)  # only the first, because MPI may then have ended the others
                if done or lost or time.monotonic() > end:
                    break
                time.sleep(0.01)
            if lost:
                raise RankLostError(f"{_ranks_text(lost)} ended while the cell ran. All are ended.", lost)
            if late := [rank for rank, each in enumerate(calls) if not each.ready()]:
                text = f"{_ranks_text(late)} did not finish in {timeout:g} s. All are ended."
                raise RankLostError(text, late)
        except BaseException:
            self.stop()
            raise
        finally:
            ends.close()
        return [RankAnswer(**each.get()) for each in calls]

    def stop(self) -> None:
        """End all processes, and wait until they have ended. A process that does not end on request is killed."""
        controller = getattr(self._cluster.controller, "pid", None)
        pids = [*self.pids, *([controller] if controller else [])]
        with suppress(Exception):  # the process may have ended already
            self._cluster.stop_cluster_sync()
        if self._client is not None:
            self._client.close()
        for pid in _left_after(ENDING, pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _left_after(ENDING, pids)  # a killed process needs a moment to end
        self.pids = []
        self._folder.cleanup()


class _Ends:
    """The order in which processes end, as the operating system reports it. Only Linux reports it."""

    def __init__(self, pids: list[int]) -> None:
        self._pids = pids
        self._ranks: dict[int, int] = {}  # maps the descriptor of a process to the index of that process in ``pids``
        self._order: list[int] = []
        self._queue = queue = select.epoll() if hasattr(os, "pidfd_open") else None
        if queue is None:
            return
        for rank, pid in enumerate(pids):
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                self._order.append(rank)
                continue
            self._ranks[descriptor] = rank
            queue.register(descriptor, select.EPOLLIN | select.EPOLLONESHOT)

    def first_of(self, ranks: list[int]) -> list[int]:
        """Return a list with the first member of ``ranks`` that ended. If the order is unknown, return all that ended.

        The list is empty if none has ended. As soon as one rank has ended, mpiexec may kill the others, and a killed
        process can become a zombie before the end of the first rank is reported. Therefore, a zombie counts as ended
        only if the operating system reports its end.
        """
        if self._queue is not None:
            self._order += [self._ranks[descriptor] for descriptor, _ in self._queue.poll(0)]
            return [rank for rank in self._order if rank in ranks][:1]
        # In the first pass, rank 0 may end just after its check, and then rank 1 just before the check of rank 1. This
        # pass finds only rank 1, although rank 0 ended first. The second pass finds both.
        passes = [[rank for rank in ranks if not _alive(self._pids[rank])] for _ in range(2)]
        return passes[1] if passes[0] else []

    def close(self) -> None:
        """Stop watching the processes."""
        if self._queue is not None:
            self._queue.close()
        for descriptor in self._ranks:
            os.close(descriptor)


def _first_lost(calls: list[Any], ends: _Ends) -> list[int]:
    """Return a list with the rank that ended first, of those without a result; if none ended, all whose call failed."""
    answered = [each.ready() and each.successful() for each in calls]
    failed = [rank for rank, each in enumerate(calls) if each.ready() and not answered[rank]]
    return ends.first_of([rank for rank, has in enumerate(answered) if not has]) or failed


def _is_hydra(mpiexec: str) -> bool:
    """True if the command is that of mpich. The command of Open MPI has other options."""
    return "HYDRA" in subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout


def _alive(pid: int) -> bool:
    """True if the process runs. A zombie does not run."""
    import psutil  # a requirement of ipyparallel, so it is installed

    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _left_after(seconds: float, pids: list[int]) -> list[int]:
    """Wait at most ``seconds`` for processes to end. Return those that still run."""
    end = time.monotonic() + seconds
    while (alive := [pid for pid in pids if _alive(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    return alive


def _ranks_text(ranks: list[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}".capitalize()
