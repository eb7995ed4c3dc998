"""Test that graphs of any length can be traversed and freed, because the engine does this without recursion.

The stack of the threads below is so small that a recursion of some thousand levels would overflow it.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import minitensor as mt
from tests.support.engine.differences import leaf
from tests.support.engine.memory import allocated


def test_a_long_chain_of_operations_runs_forward_and_backward_and_is_freed(no_collector):
    """The chain is shorter on a GPU, because an operation takes longer there."""
    count = 1_000_000 if mt.get_device() == "cpu" else 200_000
    before = allocated()
    w = leaf([1.0])
    x = w
    for _ in range(count):
        x = x + 1.0
    assert x.item() == count + 1
    x.backward()
    assert w.grad.item() == 1
    del x, w
    assert allocated() == before


def test_each_operation_of_a_long_in_place_chain_raises_the_version_by_1(no_collector):
    w = leaf([1.0])
    x = w * 1
    for _ in range(100_000):
        x.add_(1.0)
    assert x.inplace_version == 100_000
    x.backward()
    assert w.grad.item() == 1


DEEP = {
    "out-of-place operations": "for _ in range(N): x = x.scale(1.0)",
    "operations that save their output": "for _ in range(N): x = x.relu()",
    "in-place operations": "for _ in range(N): x.scale_(1.0)",
    "in-place operations that copy their input": "for _ in range(N): x.abs_()",
    "views of views": "for _ in range(N): x = x[:]",
    "in-place changes of shape": "for _ in range(N // 2): x.unsqueeze_(0); x.squeeze_(0)",
    "writes through one view": "v = x[0:1]\nfor _ in range(N): v.scale_(1.0)\nx = x + v.sum()",
    "writes through two views": "a, b = x[0:1], x[0:2]\nfor _ in range(N // 2): a.scale_(1.0); b.scale_(1.0)",
    "writes to an element": "for _ in range(N): x[0] = 1.0",
    "writes of a view to another": "for _ in range(N): x[0:1] = x[1:2]",
    "writes with an advanced index": "for _ in range(N): x[[0]] = 1.0",
    "reads with an advanced index": "for _ in range(N): x = x[[0, 1]]",
    "two operands": "for _ in range(N): x = x + x * 0.0",
    "concatenation": "for _ in range(N): x = mt.concat([x[0:1], x[1:2]])",
    "hooks": "for _ in range(N): x = x.scale(1.0); x.register_hook(lambda g: None)",
    "in-place changes of the leaf's shape": "for _ in range(N):\n    with mt.no_grad(): w.reshape_([2])\nx = w * 1",
    "copies": "import copy\nfor _ in range(N): x = copy.copy(x)",
}


SMALL_STACK = """
import gc, sys, threading
import minitensor as mt
from minitensor.engine.core.history import Node
from minitensor.engine.core.iterative_dealloc import free_iteratively
gc.disable()
N = 3_000
# CPython 3.13 nests up to 10,000 deallocations, which overflows this stack, so nodes are freed as in a browser.
if sys.version_info >= (3, 13):
    Node.__del__ = free_iteratively
PROGRAM = '''
def run():
    w = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    x = w * 1
{}
    x.sum().backward(retain_graph=True)
    assert w.grad is not None
    done.append(1)
'''
programs = []
for graph in sys.argv[1:]:
    names = {"mt": mt, "N": N, "done": []}
    exec(PROGRAM.format(graph), names)
    programs.append(names)
sys.setrecursionlimit(150)
threading.stack_size(160 * 1024)
for names in programs:
    print("begun", flush=True)
    before = mt.device.cpu.memory_allocated()
    thread = threading.Thread(target=names["run"])
    thread.start()
    thread.join()
    assert names["done"] and mt.device.cpu.memory_allocated() == before
"""


@pytest.fixture(scope="module")
def errors_on_a_small_stack() -> dict[str, str]:
    """Return the error of each graph on a small stack, "" for no error.

    One process runs the graphs one after another. If a graph fails, the process ends, and a new one runs the rest.
    """
    found: dict[str, str] = {}
    while left := [graph for graph in DEEP if graph not in found]:
        programs = [textwrap.indent(DEEP[graph], "    ") for graph in left]
        ran = subprocess.run([sys.executable, "-c", SMALL_STACK, *programs], capture_output=True, text=True)
        begun = left[: ran.stdout.count("begun")]
        found |= dict.fromkeys(begun, "")
        if ran.returncode != 0:
            found[begun[-1] if begun else left[0]] = f"status {ran.returncode}: {ran.stderr[-2000:]}"
        elif begun != left:
            found |= dict.fromkeys(set(left) - set(begun), "it was not run")
    return found


@pytest.mark.cpu_only  # the programs run in a separate process
@pytest.mark.parametrize("graph", DEEP)
def test_a_deep_graph_is_differentiated_and_freed_on_a_small_stack(graph: str, errors_on_a_small_stack: dict[str, str]):
    assert errors_on_a_small_stack[graph] == ""


@pytest.mark.cpu_only
@pytest.mark.parametrize("graph", DEEP)
def test_a_deep_graph_is_differentiated_and_freed_on_the_default_stack(graph: str, no_collector):
    before = allocated()
    names = {"mt": mt, "N": 10_000, "w": leaf([1.0, 2.0])}
    exec(f"x = w * 1\n{DEEP[graph]}\nx.sum().backward(retain_graph=True)", names)
    assert names["w"].grad is not None
    names.clear()
    assert allocated() == before


def test_a_deep_graph_is_freed_even_if_backward_fails(no_collector):
    before = allocated()
    w = leaf([1.0])
    x = w * 1
    y = x * x
    x.add_(1.0)
    for _ in range(20_000):
        y = y.scale(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    del x, y, w
    assert allocated() == before
