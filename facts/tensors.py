"""Record in tensors.json the results of the programs of chapter 1 in NumPy, PyTorch and Paddle.

    python facts/tensors.py numpy      in an environment that has numpy
    python facts/tensors.py torch
    python facts/tensors.py paddle

A record has the program, its error if it raised one, and the values of the expressions.
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

QUESTIONS: Questions = {
    "what a tensor says of itself": (
        {
            "numpy": "x = numpy.zeros((2, 3), 'float32')",
            "torch": "x = torch.zeros(2, 3)",
            "paddle": "x = paddle.zeros([2, 3])",
        },
        [
            "list(x.shape)",
            "list(x.strides)",
            "list(x.stride())",
            "x.strides",
            "x.nbytes",
            "x.itemsize",
            "x[1].offset",
            "x[1].storage_offset()",
        ],
    ),
    "a transposed matrix": (
        {
            "numpy": "x = numpy.zeros((2, 3), 'float32'); y = x.T",
            "torch": "x = torch.zeros(2, 3); y = x.t()",
            "paddle": "x = paddle.zeros([2, 3]); y = x.transpose([1, 0])",
        },
        ["list(y.shape)", "list(y.strides)", "list(y.stride())", "y.strides"],
    ),
    "a second name": (
        {
            "numpy": "x = numpy.zeros(3); y = x; z = x.view()",
            "torch": "x = torch.zeros(3); y = x; z = x.detach()",
            "paddle": "x = paddle.zeros([3]); y = x; z = x.detach()",
        },
        ["id(y) == id(x)", "id(z) == id(x)"],
    ),
    "one storage": (
        {
            "numpy": "x = numpy.zeros(6); y = x.reshape(3, 2); z = x[2:]; a = x.ctypes.data; "
            "b, c = y.ctypes.data, z.ctypes.data",
            "torch": "x = torch.zeros(6); y = x.reshape(3, 2); z = x[2:]; a = x.data_ptr(); "
            "b, c = y.data_ptr(), z.data_ptr()",
            "paddle": "x = paddle.zeros([6]); y = x.reshape([3, 2]); z = x[2:]; a = x.data_ptr(); "
            "b, c = y.data_ptr(), z.data_ptr()",
        },
        [
            "b == a",
            "c == a",
            "numpy.shares_memory(x, z)",
            "z.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()",
            "x._is_shared_buffer_with(z)",
        ],
    ),
    "two parts, asked in one line": (
        {
            "numpy": "x = numpy.zeros(6); same = id(x[:2]) == id(x[2:]); first, second = x[:2], x[2:]; "
            "kept = id(first) == id(second)",
            "torch": "x = torch.zeros(6); same = id(x[:2]) == id(x[2:]); first, second = x[:2], x[2:]; "
            "kept = id(first) == id(second)",
            "paddle": "x = paddle.zeros([6]); same = id(x[:2]) == id(x[2:]); first, second = x[:2], x[2:]; "
            "kept = id(first) == id(second)",
        },
        ["same", "kept"],
    ),
    "another shape": (
        {
            "numpy": "x = numpy.zeros(6); y = x.reshape(2, 3); y[0, 0] = 9",
            "torch": "x = torch.zeros(6); y = x.reshape(2, 3); y[0, 0] = 9",
            "paddle": "x = paddle.zeros([6]); y = x.reshape([2, 3]); y[0, 0] = 9",
        },
        ["x.tolist()[0]"],
    ),
}


if __name__ == "__main__":
    write(Path(__file__).with_name("tensors.json"), QUESTIONS)
