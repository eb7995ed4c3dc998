"""Record in compilers.json the code that compilers generate for in-place operations, for chapter 15.

    python facts/compilers.py torch      in an environment that has torch
    python facts/compilers.py jax

PyTorch traces a program into a graph, and `functionalize` replaces the writes in the graph. JAX has no writes; if an
argument of a compiled function is donated, the result may use the memory of the argument.
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

TRACED = """
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
def program(x):
{lines}
numbers = [0.5, 1.0, 2.0]
as_written = make_fx(program)(torch.tensor(numbers)).code
functional = make_fx(functionalize(program, remove="mutations_and_views"))(torch.tensor(numbers)).code
one, other = torch.tensor(numbers), torch.tensor(numbers)
same = torch.equal(program(one), functionalize(program)(other)) and torch.equal(one, other)
"""
GRAPHS = ["as_written", "functional", "same"]


def trace(*lines: str) -> tuple[dict[str, str], list[str]]:
    """Return a program that traces a function of `x` with these lines into two graphs: with writes, and without."""
    return {"torch": TRACED.format(lines="\n".join(f"    {line}" for line in lines))}, GRAPHS


DONATED = """
import warnings
warnings.simplefilter("ignore")
def step(w, g):
    return {result}
compiled = jax.jit(step{donate})
w, g = jax.numpy.ones(4), jax.numpy.ones(4)
before = w.unsafe_buffer_pointer()
new = compiled(w, g)
in_its_memory = new.unsafe_buffer_pointer() == before
gone = w.is_deleted()
try:
    after = (w + 1).tolist()
except (RuntimeError, ValueError) as error:
    after = f"{{type(error).__name__}}: " + str(error).rpartition("INVALID_ARGUMENT: ")[2]
aliased = compiled.lower(g, g).compile().memory_analysis().alias_size_in_bytes
"""
BUFFERS = ["in_its_memory", "gone", "after", "aliased"]


def with_donation(result: str, donate: str) -> tuple[dict[str, str], list[str]]:
    """Return a program that compiles and runs a step, which computes `result` from `w` and `g`.

    `donate` is an argument of `jax.jit` that lets the step reuse the memory of `w`, or "".
    """
    return {"jax": DONATED.format(result=result, donate=donate)}, BUFFERS


QUESTIONS: Questions = {
    "a write through a view": trace("a = x * 1.0", "b = a[:2]", "b.exp_()", "return a"),
    "a write into the argument": trace("x[:2].exp_()", "return x.sum()"),
    "a step": with_donation("w - 0.5 * g", ""),
    "a step that is given w": with_donation("w - 0.5 * g", ", donate_argnums=0"),
    "a sum that is given w": with_donation("(w * g).sum()", ", donate_argnums=0"),
}


if __name__ == "__main__":
    write(Path(__file__).with_name("compilers.json"), QUESTIONS)
