"""Test work that is shared among threads: each piece is done once, every thread finishes, the caller gets errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

import minitensor as mt
from minitensor.engine.device.threads import share_out
from tests.support.engine.big import low_limits, matrix

pytestmark = [pytest.mark.cpu_only, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def test_a_failure_is_raised_after_all_threads_have_finished():
    done = []

    def work(piece: int) -> None:
        done.append(piece)
        if piece == 5:
            raise KeyError(piece)

    alive = threading.active_count()
    with pytest.raises(KeyError):
        share_out(work, range(1000), 3)
    assert threading.active_count() == alive
    assert len(done) < 1000


def test_the_caller_does_all_the_work_if_no_thread_can_start(monkeypatch: pytest.MonkeyPatch):
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    done: list[int] = []
    share_out(done.append, range(100), 3)
    assert done == list(range(100))


def test_threads_share_the_work():
    """Each of three pieces waits for the other two, so the work ends only if three threads run at the same time."""
    meeting = threading.Barrier(3, timeout=300)
    share_out(lambda piece: meeting.wait(), range(3), 3)
    assert not meeting.broken


def test_an_interruption_is_raised_after_all_threads_have_finished():
    begun, working, late = threading.Event(), [], []

    def work(piece: int) -> None:
        if threading.current_thread() is threading.main_thread():
            begun.wait(20)
            signal.raise_signal(signal.SIGINT)
        else:
            working.append(piece)
            begun.set()
            threading.Event().wait(0.2)
            late.append(piece)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            share_out(work, range(100), 2)
        assert late == working and len(late) < 100
    finally:
        signal.signal(signal.SIGINT, before)


# ---------- the number of threads ----------


def test_no_thread_runs_after_an_operation():
    alive = threading.active_count()
    with low_limits(threads=3):
        x = mt.to_tensor(matrix(8))
        for _ in range(20):
            x = mt.sigmoid(x)
    assert threading.active_count() == alive


def test_the_number_of_threads_can_be_read_and_set():
    cpu = mt.device.cpu
    with low_limits():  # low_limits restores the number of threads at the end
        cpu.set_num_threads(5)
        assert cpu.get_num_threads() == 5
        with pytest.raises(ValueError, match="n must be 1 or more, not 0"):
            cpu.set_num_threads(0)
        for wrong in (2.0, True, "2", None):
            with pytest.raises(TypeError, match="n must be an integer"):
                cpu.set_num_threads(wrong)
        assert cpu.get_num_threads() == 5


@pytest.mark.parametrize(("reported", "wanted"), [("3", "3"), ("0", "must be a number, 1 or more, not '0'")])
def test_the_environment_sets_the_number_of_threads(reported: str, wanted: str):
    program = "import minitensor as mt; print(mt.device.cpu.get_num_threads())"
    environment = {**os.environ, "MINITENSOR_NUM_THREADS": reported}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    assert wanted in ran.stdout + ran.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns about a fork while pytest has other threads
def test_a_forked_child_computes_with_its_own_threads():
    with low_limits(threads=3):
        x = mt.to_tensor(matrix(8))
        expected = mt.sigmoid(x)._array.tobytes()
        child = os.fork()
        if child == 0:
            os._exit(0 if mt.sigmoid(x)._array.tobytes() == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
