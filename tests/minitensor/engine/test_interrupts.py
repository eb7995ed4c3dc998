"""Test that Ctrl-C during a write leaves the write complete or not begun, and that no thread writes afterwards."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.cpu_only

#: The program of a separate process, which a signal interrupts many times at different moments.
PROGRAM = """
import random, signal, threading, time
import minitensor as mt
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore this signal by default
from minitensor.engine.kernels.chunks import large

large.nbytes, large.chunk, large.long = 1 << 20, 1 << 14, 1 << 14
mt.device.cpu.set_num_threads(3)
random.seed(0)
SIZE = 3 << 19
{start}

for turn in range(25):
    {anew}
    timer = threading.Timer(random.uniform(0.001, 0.03), lambda: signal.raise_signal(signal.SIGINT))
    try:
        timer.start()
        while True:
            {write}
    except KeyboardInterrupt:
        pass
    while timer.is_alive():
        time.sleep(0.001)
    seen = [x.numpy() for x in looked_at()]
    for each in seen:
        assert each.min() == each.max(), (turn, each.min(), each.max())
    time.sleep(0.005)
    assert all((x.numpy() == before).all() for x, before in zip(looked_at(), seen)), turn
    assert threading.active_count() == 1
print("complete")
"""

#: For each write: the code before the first turn, the code at the beginning of each turn, and the write.
WRITES = {
    "add_": ("one = mt.ones([SIZE])\ndef looked_at(): return [x]", "x = mt.zeros([SIZE])", "x.add_(one)"),
    "sigmoid_": ("def looked_at(): return [x]", "x = mt.full([SIZE], 3.0)", "x.sigmoid_()"),
    "a transposed sigmoid_": ("def looked_at(): return [x]", "x = mt.full([SIZE // 2, 2], 3.0)", "x.T.sigmoid_()"),
    "setitem": (
        "ones, twos = mt.ones([SIZE]), mt.full([SIZE], 2.0)\ndef looked_at(): return [x]",
        "x = mt.zeros([SIZE])",
        "x[:] = ones; x[:] = twos",
    ),
    "an optimizer step": (
        "x = mt.zeros([SIZE]); x.stop_gradient = False; x.sum().backward()\n"
        "step = mt.optimizer.Momentum(0.1, parameters=[x]).step\n"
        "def looked_at(): return [x.detach()]",
        "pass",
        "step()",
    ),
    "a new tensor": ("a = mt.ones([SIZE]); x = a\ndef looked_at(): return [x]", "pass", "x = a * 2.0; x = a.sigmoid()"),
}


@pytest.mark.parametrize("write", WRITES)
def test_an_interrupted_write_is_complete_or_not_begun_and_nothing_writes_afterwards(write: str):
    start, anew, line = WRITES[write]
    program = PROGRAM.format(start=start, anew=anew, write=line)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "complete", done.stderr[-2000:]


def test_a_handler_of_the_program_is_called_after_the_write_and_stays_installed():
    program = """
import signal
from minitensor.engine.device.interrupts import uninterrupted

received = []
signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
handler = signal.getsignal(signal.SIGINT)
with uninterrupted(), uninterrupted():
    signal.raise_signal(signal.SIGINT)
    assert received == []
assert received == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is handler
print("called")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "called", done.stderr[-2000:]
