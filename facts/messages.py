"""Record in messages.json the messages of libraries about in-place operations, views, leaves and memory.

    python facts/messages.py torch      in an environment that has torch
    python facts/messages.py paddle     in an environment that has paddle
    python facts/messages.py numpy
    python facts/messages.py minitensor
    python facts/messages.py quoted     messages of a GPU, from reports of users and from a library's source

A message is the text of an error or a warning. Its record has the program that caused it, and the lines to write
instead, which were run and gave no message. Its `cause` is the name of an entry in book/causes.json. The entry has an
explanation, a remedy and the place in the book. The programs are in message_programs.py.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from message_programs import PROGRAMS

FILE = Path(__file__).with_suffix(".json")
LONGEST = 1500  # the largest number of characters; the rest is a trace of internal calls

TORCH = """
import copy, numpy
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
m = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
c = torch.tensor([1.0, 2.0, 3.0, 4.0])
i = torch.tensor([1, 2, 3])
"""
PADDLE = """
x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
m = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
c = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
i = paddle.to_tensor([1, 2, 3])
"""
MINITENSOR = PADDLE.replace("paddle", "minitensor")
NUMPY = """
np = numpy
m = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
c = np.array([1.0, 2.0, 3.0, 4.0])
i = np.array([1, 2, 3])
"""
#: Maps a library to the first lines of its programs.
STARTS = {"torch": TORCH, "paddle": PADDLE, "numpy": NUMPY, "minitensor": MINITENSOR}

KERNEL = "https://github.com/cupy/cupy/blob/1cc03dd1d98fd3759762c92b5f4cc8502d31c901/cupy/_core/_kernel.pyx"
#: Messages that need a GPU were not recorded by a run. They are quoted from a report of a user or from the library's
#: source. The programs are the shortest that satisfy the condition for the error, and were not run.
QUOTED: list[dict[str, Any]] = [
    {
        "cause": "memory",
        "library": "torch",
        "reported": "2024-03-13",
        "source": "https://github.com/pytorch/pytorch/issues/16417",
        "program": "x = torch.empty(10**12, device='cuda')",
        "instead": [],
        "message": "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total "
        "capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, this process has 23.60 GiB "
        "memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by "
        "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
    },
    {
        "cause": "memory",
        "library": "torch",
        "reported": "2021-06-10",
        "source": "https://github.com/pytorch/pytorch/issues/59778",
        "program": "x = torch.empty(10**12, device='cuda')",
        "instead": [],
        "message": "CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already "
        "allocated; 3.03 GiB free; 1.24 GiB reserved in total by PyTorch)",
    },
    {
        "cause": "memory",
        "library": "paddle",
        "reported": "2022-04-25",
        "source": "https://github.com/PaddlePaddle/Paddle/issues/42228",
        "program": "paddle.set_device('gpu')\nx = paddle.empty([10**12])",
        "instead": [],
        "message": "RuntimeError: ResourceExhaustedError:\n\nOut of memory error on GPU 0. Cannot allocate 98.000244MB "
        "memory on GPU 0, 6.000000GB memory has been allocated and available memory is only 0.000000B.\n\nPlease check "
        "whether there is any other process using GPU 0.\n1. If yes, please stop them, or start PaddlePaddle on "
        "another GPU.\n2. If no, please decrease the batch size of your model.",
    },
    {
        "cause": "memory",
        "library": "cupy",
        "reported": "2019-10-08",
        "source": "https://github.com/cupy/cupy/issues/2537",
        "program": "x = cupy.empty(10**12)",
        "instead": [],
        "message": "Out of memory allocating 25,600,000 bytes (allocated so far: 3,635,267,072 bytes).",
    },
    {
        "cause": "memory",
        "library": "cupy",
        "reported": "2018-12-25",
        "source": "https://github.com/cupy/cupy/issues/1912",
        "program": "x = cupy.empty(10**12)",
        "instead": [],
        "message": "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 1073741824 bytes (total 12373894656 "
        "bytes)",
    },
    {
        "cause": "array on the GPU",
        "library": "cupy",
        "reported": "2025-11-25",
        "source": "https://github.com/Eventual-Inc/Daft/issues/5679",
        "program": "a = cupy.ones(3)\nnumpy.asarray(a)",
        "instead": ["a = cupy.ones(3)\ncupy.asnumpy(a)", "a = cupy.ones(3)\na.get()"],
        "message": "TypeError: Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a "
        "NumPy array explicitly.",
    },
    {
        "cause": "array on the GPU",
        "library": "cupy",
        "reported": "2019-11-10",
        "source": "https://github.com/cupy/cupy/issues/2623",
        "program": "a = cupy.ones(3)\na += numpy.ones(3)",
        "instead": ["a = cupy.ones(3)\na += cupy.asarray(numpy.ones(3))"],
        "message": "TypeError: Unsupported type <type 'numpy.ndarray'>",
    },
    {
        "cause": "array on the GPU",
        "library": "cupy",
        "read": "1cc03dd",
        "source": KERNEL,
        "program": "a = cupy.ones(3)\ncupy.add(a, a, out=numpy.ones(3))",
        "instead": ["a = cupy.ones(3)\ncupy.add(a, a, out=cupy.ones(3))"],
        "message": "TypeError: Output arguments type must be cupy.ndarray",
    },
    {
        "cause": "shape",
        "library": "cupy",
        "read": "1cc03dd",
        "source": KERNEL,
        "program": "a = cupy.ones(3)\na += cupy.ones((2, 3))",
        "instead": ["a = cupy.ones(3)\nb = a + cupy.ones((2, 3))"],
        "message": "ValueError: Out shape is mismatched",
    },
]


def say(library: str, program: str) -> str | None:
    """Return the program's error or, if there is none, its last warning; None if there is no message."""
    names: dict[str, Any] = {library: importlib.import_module(library)}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(STARTS[library], names)
        del warned[:]
        try:
            exec(program, names)
        except Exception as error:
            return f"{_kind(error)}: {str(error).strip()}"[:LONGEST]
        finally:
            if "dist" in names:  # a process can start only one group
                names["dist"].destroy_process_group()
    return f"{_kind(warned[-1].message)}: {str(warned[-1].message).strip()}"[:LONGEST] if warned else None


def _kind(error: BaseException | Warning) -> str:
    """Return the name of the error as in a traceback."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def record(library: str) -> dict[str, Any]:
    version = importlib.import_module(library).__version__.partition("+")[0]
    messages: list[dict[str, Any]] = []
    for cause, entries in PROGRAMS[library].items():
        instead: tuple[str, ...] = ()
        for program, *fixes in entries:
            instead = tuple(fixes) or instead
            message = say(library, program)
            if message is not None and message not in {known["message"] for known in messages}:
                wrong = {fix: given for fix in instead if (given := say(library, fix)) is not None}
                if wrong:
                    raise ValueError(f"{library} {version}: the lines to write instead give a message too: {wrong}")
                messages.append({"cause": cause, "program": program, "message": message, "instead": [*instead]})
    return {
        "library": library,
        "version": version,
        "device": "CPU",
        "start": STARTS[library].strip(),
        "messages": messages,
    }


if __name__ == "__main__":
    records = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if sys.argv[1] == "quoted":
        records["quoted"] = {"messages": QUOTED}
    else:
        new = record(sys.argv[1])
        records[f"{new['library']} {new['version']}"] = new
    FILE.write_text(json.dumps(dict(sorted(records.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
