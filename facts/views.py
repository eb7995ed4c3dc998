"""Record in views.json the results of the programs of chapter 3 in NumPy, PyTorch and Paddle.

    python facts/views.py numpy      in an environment that has numpy
    python facts/views.py torch
    python facts/views.py paddle

A record has the program, its error if it raised one, and the values of the expressions.
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

START = {
    "numpy": "x = numpy.arange(6.0).reshape(2, 3); ",
    "torch": "x = torch.arange(6.0).reshape(2, 3); ",
    "paddle": "x = paddle.arange(6, dtype='float32').reshape([2, 3]); ",
}


def sees(**programs: str) -> tuple[dict[str, str], list[str]]:
    """Return programs that make ``y`` from ``x``, overwrite ``x``, and check if ``y`` has changed."""
    writes = {"numpy": "x[...] = 9.0", "torch": "x.fill_(9.0)", "paddle": "x.fill_(9.0)"}
    return (
        {
            library: f"{START[library]}{program}; before = y.tolist(); {writes[library]}; seen = y.tolist() != before"
            for library, program in programs.items()
        },
        ["seen"],
    )


QUESTIONS: Questions = {
    "transpose": sees(numpy="y = x.T", torch="y = x.t()", paddle="y = x.transpose([1, 0])"),
    "reshape": sees(numpy="y = x.reshape(3, 2)", torch="y = x.reshape(3, 2)", paddle="y = x.reshape([3, 2])"),
    "reshape of a transposed": sees(
        numpy="y = x.T.reshape(6)", torch="y = x.t().reshape(6)", paddle="y = x.transpose([1, 0]).reshape([6])"
    ),
    "flatten": sees(numpy="y = x.ravel()", torch="y = x.flatten()", paddle="y = x.flatten()"),
    "squeeze": sees(
        numpy="y = x[None].squeeze()", torch="y = x[None].squeeze()", paddle="y = x.unsqueeze(0).squeeze()"
    ),
    "unsqueeze": sees(numpy="y = numpy.expand_dims(x, 0)", torch="y = x.unsqueeze(0)", paddle="y = x.unsqueeze(0)"),
    "a row": sees(numpy="y = x[1]", torch="y = x[1]", paddle="y = x[1]"),
    "every second column": sees(numpy="y = x[:, ::2]", torch="y = x[:, ::2]", paddle="y = x[:, ::2]"),
    "from the last to the first": sees(numpy="y = x[::-1]", torch="y = x[::-1]", paddle="y = x[::-1]"),
    "flip": sees(numpy="y = numpy.flip(x, 0)", torch="y = x.flip(0)", paddle="y = x.flip(0)"),
    "a list of positions": sees(numpy="y = x[[0, 1]]", torch="y = x[[0, 1]]", paddle="y = x[[0, 1]]"),
    "a mask": sees(numpy="y = x[x >= 0]", torch="y = x[x >= 0]", paddle="y = x[x >= 0]"),
    "unbind": sees(torch="y = x.unbind(0)[0]", paddle="y = x.unbind(0)[0]"),
    "split": sees(numpy="y = numpy.split(x, 2)[0]", torch="y = x.split(1)[0]", paddle="y = x.split(2)[0]"),
    "chunk": sees(torch="y = x.chunk(2)[0]", paddle="y = x.chunk(2)[0]"),
    "expand": sees(
        numpy="y = numpy.broadcast_to(x, (2, 2, 3))", torch="y = x.expand(2, 2, 3)", paddle="y = x.expand([2, 2, 3])"
    ),
    "diagonal": sees(numpy="y = numpy.diagonal(x)", torch="y = x.diagonal()", paddle="y = x.diagonal()"),
    "diag": sees(numpy="y = numpy.diag(x)", torch="y = x.diag()", paddle="y = x.diag()"),
    "expand_as": sees(torch="y = x[0].expand_as(x)", paddle="y = x[0].expand_as(x)"),
    "unflatten": sees(torch="y = x.unflatten(1, (3, 1))", paddle="y = x.unflatten(1, [3, 1])"),
    "contiguous": sees(numpy="y = numpy.ascontiguousarray(x)", torch="y = x.contiguous()", paddle="y = x.contiguous()"),
    "contiguous of a transposed": sees(
        numpy="y = numpy.ascontiguousarray(x.T)",
        torch="y = x.t().contiguous()",
        paddle="y = x.transpose([1, 0]).contiguous()",
    ),
    "the same dtype": sees(
        numpy="y = x.astype('float64')", torch="y = x.to(torch.float32)", paddle="y = x.astype('float32')"
    ),
    "view of a transposed": (
        {
            "torch": START["torch"] + "y = x.t().view(6)",
            "paddle": START["paddle"] + "y = x.transpose([1, 0]).view([6])",
        },
        [],
    ),
    "a write into what a list picked": (
        {
            "numpy": START["numpy"] + "x[[0, 1]][0] = 7.0",
            "torch": START["torch"] + "x[[0, 1]][0] = 7.0",
            "paddle": START["paddle"] + "x[[0, 1]][0] = 7.0",
        },
        ["x.tolist()"],
    ),
    "a write into a slice of a slice": (
        {
            "numpy": START["numpy"] + "x[0:2][0] = 7.0",
            "torch": START["torch"] + "x[0:2][0] = 7.0",
            "paddle": START["paddle"] + "x[0:2][0] = 7.0",
        },
        ["x.tolist()"],
    ),
    "a write at a list": (
        {
            "numpy": START["numpy"] + "x[[0, 1], 0] = 7.0",
            "torch": START["torch"] + "x[[0, 1], 0] = 7.0",
            "paddle": START["paddle"] + "x[[0, 1], 0] = 7.0",
        },
        ["x.tolist()"],
    ),
}


if __name__ == "__main__":
    write(Path(__file__).with_name("views.json"), QUESTIONS)
