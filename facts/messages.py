"""Records in messages.json what libraries say when an in-place operation, a view, a leaf or memory is at fault.

python facts/messages.py torch      in an environment that has torch
python facts/messages.py paddle
python facts/messages.py numpy
python facts/messages.py minitensor
python facts/messages.py quoted     messages of a GPU, as their users reported them

A message is an error or a warning, whole, as it came from a program that is kept beside it. Its cause is an entry of
book/causes.json, which says what happened, what to do, and where the book explains it.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")
LONGEST = 1500  # characters; what follows in a longer message is a trace of the library's own calls

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
#: How the programs of a library begin.
STARTS = {"torch": TORCH, "paddle": PADDLE, "numpy": NUMPY, "minitensor": MINITENSOR}

#: Library -> cause -> programs.
PROGRAMS: dict[str, dict[str, list[str]]] = {
    "torch": {
        "leaf": ["x.add_(1.0)", "x += 1.0"],
        "leaf view": ["x[0] = 100.0", "v = x[0:2]\nv.mul_(10.0)", "x.view(3).zero_()"],
        "not a leaf": [
            "y = x * 2.0\ny.requires_grad = False",
            "y = x * 2.0\ntorch.optim.SGD([y], lr=0.1)",
            "y = x * 2.0\ncopy.deepcopy(y)",
            "y = x * 2.0\ny.sum().backward()\ny.grad",
        ],
        "no history": [
            "y = c * 2.0\ny.sum().backward()",
            "with torch.no_grad():\n    y = x * 2.0\ny.sum().backward()",
            "y = x.detach() * 2.0\ny.sum().backward()",
            "torch.autograd.grad((x * 2.0).sum(), torch.ones(3, requires_grad=True))",
        ],
        "not a number": ["(x * 2.0).backward()"],
        "integer leaf": ["i.requires_grad_()", "torch.tensor([1, 2], requires_grad=True)"],
        "saved": [
            "a = x * 1.0\ny = a * a\na.add_(1.0)\ny.sum().backward()",
            "y = x.sigmoid()\ny.mul_(2.0)\ny.sum().backward()",
            "y = torch.nn.functional.relu(x)\ny += 1.0\ny.sum().backward()",
            "y = x * x\nwith torch.no_grad():\n    x.mul_(0.5)\ny.sum().backward()",
            "with torch.autograd.set_detect_anomaly(True):\n    y = x.exp()\n    y.add_(1.0)\n    y.sum().backward()",
        ],
        "twice": ["y = (x * x).sum()\ny.backward()\ny.backward()"],
        "one of several views": [
            "a, b = (x * 1.0).split([1, 2])\na.mul_(10.0)",
            "a, b, e = (x * 1.0).unbind()\na.mul_(10.0)",
            "a, b = (torch.cat([x, x]) * 1.0).chunk(2)\na.add_(1.0)",
        ],
        "view under no_grad": [
            "y = x * 1.0\nwith torch.no_grad():\n    v = y[0:2]\nv.mul_(10.0)",
            "with torch.no_grad():\n    v = x[0:2]\nv.mul_(10.0)",
        ],
        "inference": [
            "with torch.inference_mode():\n    y = c * 2.0\ny.add_(1.0)",
            "with torch.inference_mode():\n    y = torch.ones(3)\n(x * y).sum().backward()",
        ],
        "detach in place": ["v = (x * 1.0)[0:2]\nv.detach_()"],
        "one cell several times": ["c[0:2].expand(3, 2).add_(10.0)", "c.as_strided((3, 2), (0, 1)).mul_(2.0)"],
        "overlap": ["c[1:].add_(c[:-1])", "c[1:] = c[:-1]", "c.sub_(c[0])"],
        "cannot be a view": ["m.t().view(6)"],
        "numpy of a gradient": ["x.numpy()", "numpy.asarray(x)"],
        "shape": ["c[:3].add_(m)", "c.add_(i)", "c[:3].copy_(m)"],
        "dtype": ["i.add_(0.5)", "i.div_(2)", "i.mul_(c[:3])"],
        "out": ["torch.add(x, x, out=c[:3])", "torch.add(m, m, out=torch.ones(1))"],
        "resize": ["torch.from_numpy(numpy.ones(3)).resize_(10)", "x.resize_(10)"],
        "read-only array": ["torch.from_numpy(numpy.broadcast_to(numpy.ones(1), 3))"],
        "negative stride": ["torch.from_numpy(numpy.ones(3)[::-1])"],
        "copy of a tensor": ["torch.tensor(c)"],
        "memory": ["torch.empty(10**14)"],
    },
    "paddle": {
        "leaf": ["x.scale_(2.0)", "x.zero_()", "x.reshape_([3, 1])"],
        "leaf view": ["x[0] = 100.0"],
        "saved": [
            "a = x * 1.0\ny = a * a\na.scale_(10.0)\ny.sum().backward()",
            "y = paddle.exp(x)\ny.scale_(2.0)\ny.sum().backward()",
        ],
        "twice": ["y = (x * x).sum()\ny.backward()\ny.backward()"],
        "no history": ["paddle.grad((x * 2.0).sum(), paddle.ones([3]))"],
        "cannot be a view": ["m.t().view([6])"],
        "shape": ["c[:3].add_(m)", "c.add_(paddle.ones([3]))", "c.set_value(m)"],
        "number as operand": ["c.add_(1.0)", "c.multiply_(2.0)"],
        "dtype": ["i.sin_()", "i.add_(c[:3])", "i.exp_()", "c.add_(i)"],
        "out": ["paddle.add(c, c, out=c)"],
        "memory": ["paddle.zeros([10**14])"],
    },
    "numpy": {
        "read-only array": [
            "np.broadcast_to(c, (2, 4))[0] = 1.0",
            "e = np.broadcast_to(c, (2, 4))\ne += 1.0",
            "c.flags.writeable = False\nc[0] = 1.0",
            "v = np.frombuffer(b'12345678')\nv.flags.writeable = True",
        ],
        "shape": ["c[:3] += m", "c + i", "c[0:2] = c", "c += i"],
        "dtype": ["i += 0.5", "i /= 2", "np.add(c, c, out=np.ones(4, dtype=int))"],
        "resize": ["v = m[0]\nv.resize(6)", "v = m[0]\nm.resize(8)"],
        "cannot be a view": ["m.T.shape = 6", "np.array(c, copy=False, dtype=int)", "np.reshape(m.T, 6, copy=False)"],
        "memory": ["np.zeros(10**14)"],
    },
    "minitensor": {
        "leaf": ["x.scale_(2.0)"],
        "leaf view": ["v = x[0:2]\nv.scale_(10.0)", "x[0] = 100.0"],
        "saved": [
            "a = x * 1.0\ny = a * a\na.scale_(10.0)\ny.sum().backward()",
            "y = x.exp()\ny.scale_(2.0)\ny.sum().backward()",
        ],
        "twice": ["y = (x * x).sum()\ny.backward()\ny.backward()"],
        "refused before 2.6": ["with minitensor.set_inplace_policy('2.5'):\n    x.scale(2.0).sin_()"],
        "one cell several times": ["c[0:2].as_strided([3, 2], [0, 1]).add_(10.0)"],
        "shape": ["c[:3].add_(m)", "c.add_(minitensor.ones([3]))"],
        "dtype": ["i.divide_(2)", "i.sin_()"],
        "written from outside": [
            "y = x * 1.0\na = y.detach().numpy(share=True)\nwith minitensor.check_foreign_writes():\n"
            "    z = y * y\n    a[0] = 7.0\n    z.sum().backward()"
        ],
        "memory": ["minitensor.set_device('gpu:sim', capacity='8 MiB')\nminitensor.ones([2048, 2048])"],
    },
}


#: What needs a GPU was not run here. These are from the reports of users, word for word.
QUOTED: list[dict[str, str]] = [
    {
        "cause": "memory",
        "library": "torch",
        "reported": "2024-03-13",
        "source": "https://github.com/pytorch/pytorch/issues/16417",
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
        "message": "CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already "
        "allocated; 3.03 GiB free; 1.24 GiB reserved in total by PyTorch)",
    },
    {
        "cause": "memory",
        "library": "paddle",
        "reported": "2022-04-25",
        "source": "https://github.com/PaddlePaddle/Paddle/issues/42228",
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
        "message": "Out of memory allocating 25,600,000 bytes (allocated so far: 3,635,267,072 bytes).",
    },
    {
        "cause": "memory",
        "library": "cupy",
        "reported": "2018-12-25",
        "source": "https://github.com/cupy/cupy/issues/1912",
        "message": "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 1073741824 bytes (total 12373894656 "
        "bytes)",
    },
    {
        "cause": "array on the GPU",
        "library": "cupy",
        "reported": "2025-11-25",
        "source": "https://github.com/Eventual-Inc/Daft/issues/5679",
        "message": "TypeError: Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a "
        "NumPy array explicitly.",
    },
    {
        "cause": "array on the GPU",
        "library": "cupy",
        "reported": "2019-11-10",
        "source": "https://github.com/cupy/cupy/issues/2623",
        "message": "TypeError: Unsupported type <type 'numpy.ndarray'>",
    },
]


def say(library: str, program: str) -> str | None:
    """What comes of the program: its error, or else its last warning; None if it has nothing to say."""
    names: dict[str, Any] = {library: importlib.import_module(library)}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(STARTS[library], names)
        del warned[:]
        try:
            exec(program, names)
        except Exception as error:
            return f"{_kind(error)}: {str(error).strip()}"[:LONGEST]
    return f"{_kind(warned[-1].message)}: {str(warned[-1].message).strip()}"[:LONGEST] if warned else None


def _kind(error: BaseException | Warning) -> str:
    """The name of the error as a traceback prints it."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def record(library: str) -> dict[str, Any]:
    version = importlib.import_module(library).__version__.partition("+")[0]
    messages = []
    for cause, programs in PROGRAMS[library].items():
        for program in programs:
            message = say(library, program)
            if message is not None and message not in {known["message"] for known in messages}:
                messages.append({"cause": cause, "program": program, "message": message})
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
