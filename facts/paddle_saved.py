"""Record in memory_stage/engines/paddle/saved.json the tensors that each operation of Paddle saves.

python facts/paddle_saved.py             in an environment that has paddle: all rows of the version installed there
python facts/paddle_saved.py tanh_ max   only these functions; the other rows do not change

Before Paddle saves a tensor, it passes the tensor to a hook (``register_saved_tensors_hooks``). This script calls the
functions of ``paddle``, ``paddle.nn.functional`` and ``paddle.linalg`` and the methods of tensors (except
``NOT_CALLED``) with many combinations of arguments (``WAYS``), in separate processes because some calls crash. For
each function of ``paddle._C_ops`` that a call reaches, it records the arguments and results that the hook received. The
module ``saved_table``, which reads the rows, explains their format. If calls with the same kinds of arguments save
different tensors, these kinds have no row, and are listed under ``varies``.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that Python finds the package memory_stage

from memory_stage.engines.paddle import saved_table, tensor_access  # noqa: E402  # Python finds it by the line above
from memory_stage.engines.paddle.entries import LEAF  # noqa: E402
from memory_stage.engines.paddle.monkeypatches import PaddlePatches, Runners  # noqa: E402

FILE = ROOT / "memory_stage/engines/paddle/saved.json"
SECONDS = 20  # the time limit for one function

#: Arguments for a function, as expressions. ``x``, ``y``, ``z`` are matrices of 3 by 3 between 0 and 1.
WAYS = (
    "x",
    "x, y",
    "x, y, z",
    "x, 2.0",
    "x, 2",
    "x, 0",
    "x, 1",
    "2.0, x",
    "x, [0]",
    "x, [1]",
    "x, [9]",
    "x, [1, 0]",
    "x, [3, 3]",
    "x, [1, 9]",
    "x, 'float64'",
    "x, None, 0.2, 0.8",
    "x, 0.2, 0.8",
    "x, 3, 0",
    "x, 3, 1",
    "x, 0, 1",
    "x, 1, 2",
    "x, [0], [0], [2]",
    "x, [0], [0], [3], [2]",
    "x, [3], y, z",
    "x, [3]",
    "x, y, 0.3",
    "x, y, 1",
    "x, y, y",
    "x, labels",
    "x, labels, y",
    "x, columns",
    "x, columns, 1",
    "x, columns, 2.0, 1",
    "x, columns, y, 1",
    "x, labels, 0",
    "x, labels, 0, y",
    "x, labels, 1",
    "x, mask",
    "x, mask, 2.0",
    "x, mask, y",
    "mask, x, y",
    "[x, y]",
    "[x, y], 1",
    "[x, y, z], 0",
    "x, (labels,), y[0]",
    "x, labels, 1, 1.0, y[0]",
    "labels, x",
    "x, 0.5",
    "x, 0.5, training=False",
    "image",
    "image, 2",
    "image, 2, 2",
    "image, kernel",
    "image, kernel, y[0]",
    "image, kernel, None, 2, 1",
    "image, [4, 4]",
    "image, None, 2",
    "image, [1, 1, 1, 1]",
    "image, y[0], z[0]",
    "x, y[0], z[0], y[1], z[1]",
    "x, a, b, y[0], z[0], True",
    "x, a, b, y[0], z[0], False",
    "x, a, b",
    "'ij,jk->ik', x, y",
    "x, y, 1.0, 2.0, z",
    "x, x, y",
    "x, 0, False",
    "x, 'replace'",
    "x, -1, 2.0",
)

#: Calls that no entry of ``WAYS`` can express.
OTHERS = (
    "x[0]",
    "x[0:2]",
    "x[:, 1]",
    "x[::2]",
    "x[None]",
    "x[labels]",
    "x[mask]",
    "x[[0, 2]]",
    "x[0, labels]",
    "x[..., 0]",
    "x.__setitem__(0, 1.0)",
    "x.__setitem__(0, y[0])",
    "x.__setitem__(slice(0, 2), y[0:2])",
    "x.__setitem__(slice(0, 2), 5.0)",
    "x.__setitem__((slice(None), 1), y[0])",
    "x.__setitem__(labels, y)",
    "x.__setitem__(labels, 3.0)",
    "x.__setitem__(mask, 0.0)",
    "x.__setitem__(mask, y[0, 0])",
    "x.__setitem__((0, 1), y[0, 0])",
    "x.__setitem__((0, 1), 2.0)",
    *(f"x {op} {other}" for op in ("+", "-", "*", "/", "**", "@", "//", "%") for other in ("y", "2.0", "2", "y[0]")),
    *(f"2.0 {op} x" for op in ("+", "-", "*", "/", "**")),
    "-x",
    "x.T",
    "x * x",
    "paddle.nn.LayerNorm(3)(x)",
    "paddle.nn.Linear(3, 2)(x)",
    "paddle.nn.LSTM(3, 2)(x[None])",
    "paddle.nn.GRU(3, 2)(x[None])",
    "paddle.nn.SimpleRNN(3, 2)(x[None])",
    "paddle.nn.MultiHeadAttention(3, 1)(x[None])",
    "paddle.nn.BatchNorm1D(3)(x)",
    "paddle.nn.BatchNorm2D(2)(image)",
    "paddle.nn.GroupNorm(1, 2)(image)",
    "paddle.nn.InstanceNorm2D(2)(image)",
    "paddle.nn.Conv2D(2, 3, 3)(image)",
    "paddle.nn.Conv2DTranspose(2, 3, 3)(image)",
    "paddle.nn.Embedding(5, 3)(labels)",
    "paddle.nn.functional.embedding(labels, x)",
    "paddle.nn.functional.cross_entropy(x, labels, reduction='sum')",
    "paddle.nn.functional.cross_entropy(x, y, soft_label=True)",
    "paddle.nn.functional.scaled_dot_product_attention(*(paddle.rand([1, 2, 2, 4]),) * 3)",
    "paddle.var(x, unbiased=False)",
    "paddle.assign(x, y)",
    "x.cast('float64')",
    "x.astype('float16')",
    "paddle.pow(x, y)",
    "paddle.nn.utils.clip_grad_norm_([x], 1.0)",
)

#: Functions that are not called, because they read files, wait, start processes, or change the state of Paddle.
NOT_CALLED = frozenset(
    ("load", "save", "set_device", "seed", "summary", "flops", "run_check", "enable_static", "disable_static", "batch")
    + ("DataParallel", "backward", "set_default_dtype", "set_grad_enabled", "register_hook", "register_grad_hook")
    + ("cuda", "pin_memory", "to_dense")
)


def arguments(paddle: Any, wanting: str) -> dict[str, Any]:
    """Return the named tensors for the calls. Those in ``wanting`` require a gradient and are not leaves."""

    def matrix(name: str, low: float, shape: tuple[int, ...] = (3, 3)) -> Any:
        count = 1
        for n in shape:
            count *= n
        values = [low + 0.8 * ((7 * i) % count) / count for i in range(count)]
        leaf = paddle.to_tensor(values, dtype="float32").reshape(list(shape))
        if name not in wanting:
            return leaf.detach()
        leaf.stop_gradient = False
        return leaf * 1.0

    return {
        "paddle": paddle,
        "x": matrix("x", 0.11),
        "y": matrix("y", 0.13),
        "z": matrix("z", 0.17),
        "a": matrix("-", 0.1, (3,)),
        "b": matrix("-", 0.2, (3,)),
        "image": matrix("x", 0.1, (1, 2, 4, 4)),
        "kernel": matrix("y", 0.1, (3, 2, 3, 3)),
        "labels": paddle.to_tensor([0, 2, 1]),
        "columns": paddle.to_tensor([[0], [2], [1]]),
        "mask": paddle.to_tensor([[True, False, True], [False, True, True], [True, True, False]]),
    }


class Learner:
    """The rows of a process: the roles of the tensors that the hook received while functions of ``_C_ops`` ran."""

    def __init__(self, paddle: Any) -> None:
        self.paddle, self.busy, self.reached = paddle, False, False
        self.rows: list[tuple[str, str, list[str]]] = []

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.paddle.Tensor) and tensor_access.is_drawable(value)

    def single(self, name: str, function: Callable[..., Any], given: Any, keywords: Any) -> Any:
        self.reached = True
        if self.busy:
            return function(*given, **keywords)
        eager = self.paddle.base.core.eager
        kinds = saved_table.signature(given, keywords, self.is_tensor)
        before = {
            path: (x, x.data_ptr(), list(x.shape), x._inplace_version(), tensor_access.copied(x), self.node(x))
            for path, x in saved_table.inputs(given, keywords, self.is_tensor).items()
        }
        received: list[tuple[Any, int]] = []

        def pack(x: Any) -> Any:
            received.append((x, x._inplace_version()))
            return x

        self.busy = True
        try:
            eager.register_saved_tensors_hooks(pack, lambda x: x)
            try:
                result = function(*given, **keywords)
            finally:
                eager.reset_saved_tensors_hooks()
            outputs = dict(saved_table.paths(result, self.is_tensor))
            there = [*outputs.values(), *(x for x, *_ in before.values())]
            known = {entry[-1] for entry in before.values()}
            nodes = {
                self.node(x): x.grad_fn.name()
                for x in there
                if self.node(x) not in known | {0} and x.grad_fn.name() != LEAF
            }
            # `distinct` is False for ``x * x``, because both operands are one tensor.
            distinct = len({entry[1] for entry in before.values()}) == len(before)
            if len(nodes) == 1 and distinct:
                roles = [self.role(x, version, before, outputs) for x, version in received]
                self.rows.append((f"{name} {next(iter(nodes.values()))}", kinds, roles))
            return result
        finally:
            self.busy = False

    @staticmethod
    def node(x: Any) -> int:
        return 0 if x.stop_gradient or x.grad_fn is None else int(x.grad_fn.node_ptr())

    def role(self, x: Any, version: int, before: dict[str, Any], outputs: dict[str, Any]) -> str:
        """Return the role of ``x``, the tensor that the hook has received: "in" or "out" with the path of the argument
        or result, "copy" with the path of the argument that it is a copy of, or "hidden". If ``x`` shares the memory of
        an overwritten argument, but has another shape, the role is "out 0".
        """
        written = {path for path, (t, _, _, was, _, _) in before.items() if t._inplace_version() != was}
        at, shape = x.data_ptr(), list(x.shape)
        for path, (_, address, was_shape, was, _, _) in before.items():
            if address == at and was_shape == shape and not (path in written and version != was):
                return f"in {path}"
        for path, out in outputs.items():
            if out.data_ptr() == at and list(out.shape) == shape:
                return f"out {path}"
        for path in written:
            if before[path][0].data_ptr() == at:
                return "out 0"
        for path in written:
            cells = before[path][4]
            if list(cells.shape) == shape and tensor_access.copied(x).tobytes() == cells.tobytes():
                return f"copy {path}"
        return "hidden"


def texts(paddle: Any) -> Iterator[list[str]]:
    """Yield lists of calls: one call of ``OTHERS``, or all calls of one function or method."""
    for text in OTHERS:
        yield [text]
    functional = paddle.nn.functional
    for owner, text in ((paddle, "paddle."), (functional, "paddle.nn.functional."), (paddle.linalg, "paddle.linalg.")):
        for name in sorted(vars(owner)):
            value = getattr(owner, name, None)
            if callable(value) and not isinstance(value, type) and name[0] != "_" and name not in NOT_CALLED:
                yield [f"{text}{name}({way})" for way in WAYS]
    for name in sorted(dir(paddle.Tensor)):
        method = getattr(paddle.Tensor, name, None)
        if name[0] != "_" and name not in NOT_CALLED and callable(method) and method is not getattr(paddle, name, None):
            rest = (way.partition(", ") for way in WAYS if way.startswith(("x", "image")))
            yield [f"{first}.{name}({others})" for first, _, others in rest]


def learn(paddle: Any, calls: list[str]) -> list[tuple[str, str, list[str]]]:
    """Make each call with every choice of arguments that require a gradient, and return the rows that are recorded."""
    learner = Learner(paddle)
    others = dict.fromkeys(Runners._fields, passing)
    PaddlePatches(Runners(**{**others, "single": learner.single})).apply(paddle)
    fresh: dict[str, dict[str, Any]] = {}  # arguments of calls that reached no operation, to be used again
    for text in calls:
        code = compile(text, "call", "eval")
        operands = {"image": "x", "kernel": "y"} | dict(zip("xyz", "xyz", strict=True))
        named = sorted({operands[name] for name in code.co_names if name in operands})
        for size in range(1, len(named) + 1):
            for wanting in map("".join, itertools.combinations(named, size)):
                names = fresh.pop(wanting, None) or arguments(paddle, wanting)
                learner.reached = False
                with contextlib.suppress(Exception):
                    eval(code, names)
                if not learner.reached:
                    fresh[wanting] = names
                    break  # the call reached no operation, so the choice of gradients does not matter
            else:
                continue
            break
    return learner.rows


def passing(name: str, function: Callable[..., Any], given: Any, keywords: Any) -> Any:
    return function(*given, **keywords)


def in_a_process(paddle: Any, calls: list[str]) -> list[Any] | None:
    """Return the rows from a child process; None if it crashes or takes longer than SECONDS."""
    reading_end, writing_end = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.close(reading_end)
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(io.StringIO()):
            os.dup2(nowhere.fileno(), 2)
            rows = learn(paddle, calls)
        with os.fdopen(writing_end, "w") as pipe:
            json.dump(rows, pipe)
        os._exit(0)
    os.close(writing_end)
    with os.fdopen(reading_end) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def main() -> None:
    warnings.simplefilter("ignore")
    import paddle

    found: dict[str, dict[str, list[list[str]]]] = {}
    wanted = sys.argv[1:]
    if wanted:
        known = json.loads(FILE.read_text(encoding="utf-8"))["versions"].get(paddle.__version__, {})
        found = {key: {kinds: [roles] for kinds, roles in rows.items()} for key, rows in known.items()}
    for number, calls in enumerate(texts(paddle), 1):
        if wanted and calls[0].partition("(")[0].rpartition(".")[2] not in wanted:
            continue
        rows = in_a_process(paddle, calls)
        if rows is None and len(calls) > 1:
            rows = [
                row for call in calls for row in in_a_process(paddle, [call]) or ()
            ]  # leaves out the calls that crash
        for key, kinds, roles in rows or ():
            there = found.setdefault(key, {}).setdefault(kinds, [])
            if roles not in there:
                there.append(roles)
        if number % 100 == 0:
            write(paddle.__version__, found)
    write(paddle.__version__, found)
    print(f"{paddle.__version__}: {len(found)} operations")


def write(version: str, found: dict[str, dict[str, list[list[str]]]]) -> None:
    """Write the rows of a version to the file, and keep those of other versions."""
    whole = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    versions, varies = whole.get("versions", {}), whole.get("varies", {})
    versions[version] = {
        key: {kinds: roles[0] for kinds, roles in sorted(rows.items()) if len(roles) == 1}
        for key, rows in sorted(found.items())
    }
    varies[version] = sorted(
        f"{key} {kinds}" for key, rows in found.items() for kinds, roles in rows.items() if len(roles) > 1
    )
    answer = {
        "README": "What each operation of Paddle saves for backward, learned from Paddle by facts/paddle_saved.py.",
        "command": "python facts/paddle_saved.py",
        "device": "CPU",
        "varies": dict(sorted(varies.items())),
        "versions": dict(sorted(versions.items())),
    }
    # One line for each operation, which is easier to compare, and smaller in the wheel.
    lines = re.sub(r"\{\s+[^{}]*?\s+\}", lambda row: re.sub(r"\n\s*", "", row[0]), json.dumps(answer, indent=1))
    FILE.write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
