"""Record in layout-programs.json.gz the results of random programs of views, operations, reshapes and writes.

    python facts/layout_programs.py torch         in an environment that has torch; or paddle
    python facts/layout_programs.py minitensor    compare minitensor with the record

Operations get transposed, sliced and permuted operands, and their results are reshaped, flattened and written. The
result of a program is the numbers, the shape and the strides of every tensor at the end. The record has the hash of the
result. All numbers are small and whole, so that they are exact.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import sys
import warnings
from pathlib import Path
from random import Random
from typing import Any

FILE = Path(__file__).with_name("layout-programs.json.gz")
COUNT = 20_000
#: Maps a library to the module of minitensor that has its names.
MODULES = {"torch": "minitensor.torch", "paddle": "minitensor"}

SHAPES = [[2, 3], [3, 2], [2, 2], [2, 3, 2], [3, 1, 2]]
UNARY = ["-{}", "L.abs({})", "L.sign({})", "F.relu({})", "{} * 2", "{} + 1", "{}.clone()", "L.cumsum({}, 0)"]
UNARY += ["L.flip({}, [0])", "L.zeros_like({})", "{}.contiguous()", "F.softmax({}, 0) * 0", "L.tril({})"]
BINARY = ["{} + {}", "{} - {}", "L.maximum({}, {})", "L.where({} > 1, {}, {})", "L.concat([{}, {}])"]
WRITES = ["{}.zero_()", "{}.fill_({number})", "{}[0] = {number}", "{}[-1:] = {number}"]


def program(number: int) -> list[str]:
    """Return the lines of a program.

    They use the library as `L`, and two functions: `number` makes a tensor and `permuted` permutes dimensions.
    """
    chance = Random(f"layouts {number}")

    def pick(choices: Any) -> Any:
        return choices[int(chance.random() * len(choices))]

    shapes: dict[str, list[int]] = {}
    lines: list[str] = []
    for name in "ab":
        shapes[name] = pick(SHAPES) if name == "a" or chance.random() < 0.3 else shapes["a"]
        lines.append(f"{name} = number({shapes[name]}, {int(chance.random() * 9)})")
    for name in "cdefghij"[: 3 + int(chance.random() * 6)]:
        source = pick(list(shapes))
        shape, kind = shapes[source], chance.random()
        alike = [each for each in shapes if shapes[each] == shape]
        if kind < 0.25 and len(shape) > 1:
            order = sorted(range(len(shape)), key=lambda _: chance.random())
            text, new = f"permuted({source}, {order})", [shape[d] for d in order]
        elif kind < 0.32 and shape[0] > 1:
            text, new = pick([(f"{source}[1:]", [shape[0] - 1]), (f"{source}[::2]", [(shape[0] + 1) // 2])])
            new = [*new, *shape[1:]]
        elif kind < 0.55:
            text = pick([f"{source}.reshape([-1])", f"{source}.flatten()", f"{source}.unsqueeze(0).reshape([-1])"])
            count = 1
            for n in shape:
                count *= n
            new = [count]
        elif kind < 0.75 or (len(shape) < 2 and kind < 0.85):
            text, new = pick(UNARY).format(source), shape
            text = text if len(shape) > 1 else f"{source} * 2"
        else:
            template = pick(BINARY)
            first, other = source, pick(alike)
            text, new = template.format(first, other, pick(alike)), shape
            if "concat" in template:
                new = [2 * shape[0], *shape[1:]]
        lines.append(f"{name} = {text}")
        shapes[name] = new
        if chance.random() < 0.4:
            lines.append(pick(WRITES).format(pick(list(shapes)), number=1 + int(chance.random() * 9)))
    return lines


def run(module: str, lines: list[str]) -> str:
    """Return the text of the result, or of an error."""
    there = importlib.import_module(module)
    is_torch = module.endswith("torch")

    def number(shape: list[int], first: int) -> Any:
        count = 1
        for n in shape:
            count *= n
        numbers = [float((first + 5 * i) % 7 - 2) for i in range(count)]
        return (there.tensor(numbers) if is_torch else there.to_tensor(numbers)).reshape(shape)

    def permuted(x: Any, order: list[int]) -> Any:
        return x.permute(*order) if is_torch else x.transpose(order)

    names = {"L": there, "F": importlib.import_module(f"{module}.nn.functional"), "number": number}
    space: dict[str, Any] = {**names, "permuted": permuted}
    try:
        for line in lines:
            exec(line, space)
    except Exception as error:
        return f"{line}: {type(error).__name__}"
    found = []
    for name in sorted(each for each in space if len(each) == 1 and each not in "LF"):
        x = space[name]
        shape, strides = list(x.shape), list(x.stride() if is_torch else x.strides)
        used = [stride for n, stride in zip(shape, strides, strict=True) if n > 1]
        found.append(f"{name} {shape} {used} {x.tolist()}")
    return "\n".join(found).replace("-0.0", "0.0")


def digest(result: str) -> str:
    """Return a short hash of a result."""
    return hashlib.sha256(result.encode()).hexdigest()[:6]


def different(library: str, numbers: range) -> list[int]:
    """Return the numbers of the programs for which minitensor's result differs from that of the library."""
    recorded = json.loads(gzip.decompress(FILE.read_bytes()))[library]["hashes"]
    mine = [digest(run(MODULES[library], program(number))) for number in numbers]
    return [n for n, hashed in zip(numbers, mine, strict=True) if hashed != recorded[6 * n : 6 * n + 6]]


def main() -> None:
    """Record the results of the library that the command line names, or compare minitensor with the records."""
    warnings.simplefilter("ignore")
    library = sys.argv[1]
    if library == "minitensor":
        sys.path.insert(0, str(Path(__file__).parents[1]))
        for each in MODULES:
            print(each, different(each, range(COUNT)))
        return
    records = json.loads(gzip.decompress(FILE.read_bytes())) if FILE.exists() else {}
    hashes = "".join(digest(run(library, program(number))) for number in range(COUNT))
    version = importlib.import_module(library).__version__.partition("+")[0]
    records[library] = {"version": version, "programs": COUNT, "hashes": hashes}
    text = json.dumps(records, separators=(",", ":"), sort_keys=True)
    FILE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
