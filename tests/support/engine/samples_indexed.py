"""Calls of the operations that take an index, a mask or a diagonal, with references in plain loops.

Operands that require a gradient are in ``arrays``; indices, masks and arguments are inside ``call``. The references are
written from the documentation of the frameworks, and compute one element after another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import minitensor as mt
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS
from tests.support.engine.samples import ANY, CONDITION, OTHER, product, sample

Operation = Callable[..., mt.Tensor]


@dataclass(frozen=True)
class Case:
    """A call: ``call(operation, *tensors)`` should equal ``reference(*arrays)``. In place it writes tensor 0."""

    name: str
    what: str
    call: Callable[..., mt.Tensor]
    reference: Callable[..., np.ndarray]
    arrays: tuple[np.ndarray, ...]

    def __str__(self) -> str:
        return f"{self.name}-{self.what}"

    def run(self, *tensors: mt.Tensor, in_place: bool = False) -> mt.Tensor:
        """Return the result of the normal operation, or of the in-place one."""
        return self.call(FUNCTIONS[self.name + ("_" if in_place else "")], *tensors)


CASES: list[Case] = []


def case(name: str, what: str, call: Callable[..., mt.Tensor], reference: Callable[..., np.ndarray], *arrays: object):
    CASES.append(Case(name, what, call, reference, tuple(np.array(a, np.float64) for a in arrays)))


def whole(numbers: object) -> mt.Tensor:
    """Return a tensor of int64."""
    return mt.to_tensor(np.array(numbers, np.int64))


GRID = np.array([[0.3, -1.2, 2.1, 0.9], [1.7, 0.4, -0.8, 1.1], [-0.5, 2.6, 0.7, -1.9]])
BLOCK = np.array([[1.4, -0.3, 0.8, 2.2], [-1.1, 0.6, 1.9, -0.7], [0.2, 1.3, -2.4, 0.5], [2.7, -1.6, 0.1, 1.2]])
CUBE = np.arange(24).reshape(2, 3, 4) * 0.37 - 4.1


# ---------- parts along one axis ----------


def each_row(index: list[int], then: Callable[[np.ndarray, int, int], None]) -> Callable[..., np.ndarray]:
    """Return a reference that copies the first array and calls ``then(copy, row, turn, *others)`` per index entry."""

    def reference(x: np.ndarray, *others: np.ndarray) -> np.ndarray:
        result = x.copy()
        for turn, row in enumerate(index):
            then(result, row % len(x), turn, *others)
        return result

    return reference


def add_row(result, row, turn, value):
    result[row] = result[row] + value[turn]


def set_row(result, row, turn, value):
    result[row] = value[turn]


def fill_row(result, row, turn, value):
    result[row] = value


for _index in ([0, 2], [2, 0, 2, 2], [-1, 0], []):
    _n = len(_index)
    case("index_select", str(_index), lambda op, x, i=_index: op(x, whole(i)),
         lambda x, i=_index: np.array([x[k] for k in i]).reshape(len(i), 4), GRID)  # fmt: skip
    case("gather", str(_index), lambda op, x, i=_index: op(x, whole(i), 1),
         lambda x, i=_index: np.array([x[:, k] for k in i]).reshape(len(i), 3).T, GRID)  # fmt: skip
    case("index_add", str(_index), lambda op, x, v, i=_index: op(x, whole(i), 0, v),
         each_row(_index, add_row), GRID, BLOCK[:_n])  # fmt: skip
    case("index_add", f"{_index} along 1, alpha", lambda op, x, v, i=_index: op(x, whole(i), -1, v, alpha=-1.5),
         lambda x, v, i=_index: each_row(i, add_row)(x.T, -1.5 * v.T).T, GRID, BLOCK.T[:3, :_n])  # fmt: skip
    case("index_fill", str(_index), lambda op, x, v, i=_index: op(x, whole(i), 0, v),
         each_row(_index, fill_row), GRID, 1.5)  # fmt: skip
    case("scatter", str(_index), lambda op, x, v, i=_index: op(x, whole(i), v),
         each_row(_index, set_row), GRID, BLOCK[:_n])  # fmt: skip
    case("scatter", f"{_index} summed", lambda op, x, v, i=_index: op(x, whole(i), v, overwrite=False),
         lambda x, v, i=_index: each_row(i, add_row)(each_row(i, fill_row)(x, 0), v), GRID, BLOCK[:_n])  # fmt: skip
case("gather", "one part", lambda op, x: op(x, whole(-1), 1), lambda x: x[:, 3], GRID)
case("index_fill", "a number", lambda op, x: op(x, whole([1]), 1, 7.0),
     lambda x: np.stack([x[:, 0], 0 * x[:, 0] + 7, x[:, 2], x[:, 3]], 1), GRID)  # fmt: skip
case("index_add", "one part of a cube", lambda op, x, v: op(x, whole(1), 1, v),
     lambda x, v: np.stack([x[:, 0], x[:, 1] + v[:, 0], x[:, 2]], 1), CUBE, CUBE[:, 2:])  # fmt: skip
case("scatter", "one row", lambda op, x, v: op(x, whole(1), v), lambda x, v: np.stack([x[0], v, x[2]]), GRID, BLOCK[0])


# ---------- elements that several indices select together ----------


def each_place(places: list[tuple[int, ...]], add: bool) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, value: np.ndarray) -> np.ndarray:
        result = x.copy()
        value = np.broadcast_to(value, (len(places), *x[places[0]].shape))
        for place, one in zip(places, value, strict=True):
            result[place] = result[place] + one if add else one
        return result

    return reference


TWICE = [(0, 1), (2, 3), (0, 1), (-1, -4)]
for _add in (False, True):
    _how = "added" if _add else "assigned"
    case("index_put", f"places {_how}",
         lambda op, x, v, a=_add: op(x, tuple(whole(i) for i in zip(*TWICE, strict=True)), v, a),
         each_place(TWICE, _add), GRID, BLOCK[0])  # fmt: skip
    case("index_put", f"one value {_how}",
         lambda op, x, v, a=_add: op(x, tuple(whole(i) for i in zip(*TWICE, strict=True)), v, accumulate=a),
         each_place(TWICE, _add), GRID, 2.5)  # fmt: skip
    case("index_put", f"rows {_how}", lambda op, x, v, a=_add: op(x, (whole([2, 0, 2]),), v, a),
         each_place([(2,), (0,), (2,)], _add), GRID, BLOCK[:3])  # fmt: skip
    case("index_put", f"a mask {_how}", lambda op, x, v, a=_add: op(x, (mt.to_tensor(GRID > 1),), v, a),
         each_place([tuple(map(int, p)) for p in np.argwhere(GRID > 1)], _add), GRID,
         BLOCK[:2, :2].ravel())  # fmt: skip
    case("index_put", f"broadcast indices {_how}",
         lambda op, x, v, a=_add: op(x, (whole([[1], [0]]), whole([0, 3])), v, a),
         lambda x, v, a=_add: each_place([(1, 0), (1, 3), (0, 0), (0, 3)], a)(x, v.ravel()), GRID,
         BLOCK[:2, :2])  # fmt: skip


# ---------- single elements along an axis ----------

JOINED: dict[str, Callable[[list[float]], float]] = {
    "assign": lambda given: given[-1],
    "add": sum,
    "multiply": lambda given: float(np.prod(given)),
    "mean": lambda given: sum(given) / len(given),
    "amin": min,
    "amax": max,
}


def along_axis(
    indices: np.ndarray, axis: int, join: str, include_self: bool = True, spread: bool = True
) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, values: np.ndarray) -> np.ndarray:
        cover = [indices.shape[d] if d == axis or not spread else n for d, n in enumerate(x.shape)]
        index = np.broadcast_to(indices, cover)
        values = np.broadcast_to(values, cover) if spread or values.size == 1 else values
        met: dict[tuple[int, ...], list[float]] = {}
        for at in itertools.product(*map(range, cover)):
            place = (*at[:axis], int(index[at]) % x.shape[axis], *at[axis + 1 :])
            met.setdefault(place, []).append(values[at])
        result = x.copy()
        for place, given in met.items():
            own = [x[place]] if include_self and join != "assign" else []
            result[place] = JOINED[join](own + given)
        return result

    return reference


ALONG = np.array([[0, 1, 2, 0], [2, 1, -1, 0]])
for _join in JOINED:
    _row = "put_along_axis" if _join == "assign" else f"put_along_axis_{_join}"
    for _own in (True, False) if _join != "assign" else (True,):
        _kw = {} if _join == "assign" else {"include_self": _own}
        _text = "" if _own else " without itself"
        case(_row, f"along 0{_text}", lambda op, x, v, k=_kw: op(x, whole(ALONG), v, 0, **k),
             along_axis(ALONG, 0, _join, _own), GRID, BLOCK[:2])  # fmt: skip
        case(_row, f"one value, spread{_text}", lambda op, x, v, k=_kw: op(x, whole([[1, 3, 1]]), v, 1, **k),
             along_axis(np.array([[1, 3, 1]]), 1, _join, _own), GRID, 0.35)  # fmt: skip
        case(_row, f"not spread{_text}", lambda op, x, v, k=_kw: op(x, whole(ALONG[:, :3]), v, 0, broadcast=False, **k),
             along_axis(ALONG[:, :3], 0, _join, _own, spread=False), GRID, BLOCK[:3])  # fmt: skip
case("scatter_add", "part of src", lambda op, x, v: op(x, 0, whole(ALONG[:, :3]), v),
     along_axis(ALONG[:, :3], 0, "add", spread=False), GRID, BLOCK[:3])  # fmt: skip
case("take_along_axis", "along 0", lambda op, x: op(x, whole(ALONG), 0),
     lambda x: np.array([[x[ALONG[i, j], j] for j in range(4)] for i in range(2)]), GRID)  # fmt: skip
case("take_along_axis", "spread", lambda op, x: op(x, whole([[3, 3, 0]]), 1),
     lambda x: np.array([[row[3], row[3], row[0]] for row in x]), GRID)  # fmt: skip
case("take_along_axis", "not spread", lambda op, x: op(x, whole(ALONG[:, :2]), 0, broadcast=False),
     lambda x: np.array([[x[ALONG[i, j], j] for j in range(2)] for i in range(2)]), GRID)  # fmt: skip
case("take_along_axis", "x spread", lambda op, x: op(x, whole(ALONG[:, :3]), 1),
     lambda x: np.array([[x[0, ALONG[i, j]] for j in range(3)] for i in range(2)]), GRID[:1])  # fmt: skip

# ---------- masks ----------

MASK = np.array([[True, False, False, True], [False, True, True, False], [True, True, False, True]])


def counted_off(mask: np.ndarray) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, value: np.ndarray) -> np.ndarray:
        result, numbers = x.copy(), iter(value.ravel())
        for at in np.ndindex(x.shape):
            if np.broadcast_to(mask, x.shape)[at]:
                result[at] = next(numbers)
        return result

    return reference


for _mask in (MASK, MASK[0], MASK[:, :1], np.array(True), np.array(False)):
    _what = f"mask {list(_mask.shape)} {int(_mask.sum())} true"
    case("masked_fill", _what, lambda op, x, v, m=_mask: op(x, mt.to_tensor(m), v),
         lambda x, v, m=_mask: np.array([v if t else e for e, t in zip(x.ravel(), np.broadcast_to(m, x.shape).ravel(),
                                                                       strict=True)]).reshape(x.shape),
         GRID, -0.6)  # fmt: skip
    case("masked_scatter", _what, lambda op, x, v, m=_mask: op(x, mt.to_tensor(m), v), counted_off(_mask), GRID, BLOCK)
    case("masked_select", _what, lambda op, x, m=_mask: op(x, mt.to_tensor(m)),
         lambda x, m=_mask: np.array([x[at] for at in np.ndindex(x.shape) if np.broadcast_to(m, x.shape)[at]]),
         GRID)  # fmt: skip
case("where", "in the place of x", lambda op, x, y: op(mt.to_tensor(CONDITION), x, y),
     lambda x, y: np.array([[x[i, j] if CONDITION[i, j] else y[j] for j in range(3)] for i in range(2)]), ANY,
     OTHER[0])  # fmt: skip

# ---------- diagonals ----------


def on_diagonal(offset: int, one: int, two: int) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        result = x.copy()
        for at in np.ndindex(x.shape):
            if at[two] - at[one] == offset:
                rest = tuple(i for d, i in enumerate(at) if d not in (one, two))
                result[at] = y[(*rest, min(at[one], at[two]))]
        return result

    return reference


for _offset, _length in ((0, 3), (2, 2), (-1, 2), (5, 0)):
    case("fill_diagonal_tensor", f"offset {_offset}", lambda op, x, y, o=_offset: op(x, y, o),
         on_diagonal(_offset, 0, 1), GRID, BLOCK[0, :_length])  # fmt: skip
case("fill_diagonal_tensor", "of a cube", lambda op, x, y: op(x, y, offset=1, dim1=-1, dim2=0),
     on_diagonal(1, 2, 0), CUBE, CUBE[0, :, :1])  # fmt: skip

# ---------- matrices ----------

for _beta, _alpha in ((1.0, 1.0), (0.5, -2.0), (0, 1.5)):
    case("addmm", f"{_beta} and {_alpha}", lambda op, c, x, y, b=_beta, a=_alpha: op(c, x, y, b, a),
         lambda c, x, y, b=_beta, a=_alpha: b * c + a * product(x, y), GRID, BLOCK[:3, :2], BLOCK[2:])  # fmt: skip
    case("baddbmm", f"{_beta} and {_alpha}", lambda op, c, x, y, b=_beta, a=_alpha: op(c, x, y, beta=b, alpha=a),
         lambda c, x, y, b=_beta, a=_alpha: b * c + a * product(x, y), CUBE, CUBE[:, :, :2],
         CUBE[:, :2] * 0.5)  # fmt: skip

# ---------- one operand: samples, which the tests of all rows use ----------

for _name, _kept in (("tril", lambda i, j, d: j - i <= d), ("triu", lambda i, j, d: j - i >= d)):
    for _diagonal in (0, 1, -1, 5):
        sample(_name, lambda x, k=_kept, d=_diagonal: np.array([[e if k(i, j, d) else 0.0 for j, e in enumerate(row)]
               for i, row in enumerate(x)]), ANY, diagonal=_diagonal)  # fmt: skip
    sample(_name, lambda x, k=_kept: x * np.array([[k(i, j, 0) for j in range(4)] for i in range(3)]), CUBE)


def filled_diagonal(offset: int, wrap: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Return a reference that sets the elements of the diagonal to 9. With ``wrap``, the diagonal of a tall matrix
    starts again after one row that it skips, as Paddle's documentation describes.
    """

    def reference(x: np.ndarray) -> np.ndarray:
        result, columns = x.copy(), x.shape[1]
        for i in range(x.shape[0]):
            j = i % (columns + 1) if wrap else i
            if j < columns and 0 <= j + offset < columns:
                result[i, j + offset] = 9.0
        return result

    return reference


for _offset in (0, 1, -1):
    for _wrap in (False, True):
        for _x in (ANY, ANY.T, np.resize(GRID, (7, 3))):
            sample("fill_diagonal", filled_diagonal(_offset, _wrap), _x, value=9.0, offset=_offset, wrap=_wrap)


def embedded(offset: int, one: int, two: int) -> Callable[[np.ndarray], np.ndarray]:
    def reference(x: np.ndarray) -> np.ndarray:
        side = x.shape[-1] + abs(offset)
        result = np.zeros((*x.shape[:-1], side, side))
        for at in np.ndindex(x.shape):
            result[(*at[:-1], at[-1] + max(0, -offset), at[-1] + max(0, offset))] = x[at]
        return np.moveaxis(result, (-2, -1), (one, two))

    return reference


for _offset in (0, 2, -1):
    sample("diag_embed", embedded(_offset, -2, -1), ANY, offset=_offset)
    sample("diag_embed", embedded(_offset, 2, 0), ANY, offset=_offset, dim1=-1, dim2=0)


def shrunk(p: float, most: float) -> Callable[[np.ndarray], np.ndarray]:
    def reference(x: np.ndarray) -> np.ndarray:
        norms = [sum(abs(e) ** p for e in row.ravel()) ** (1 / p) for row in x]
        return np.stack([row * (most / n if n > most else 1) for row, n in zip(x, norms, strict=True)])

    return reference


for _p, _most in ((1.0, 2.5), (2.0, 1.3), (3.0, 1.3), (1.5, 0.0), (2.0, 100.0)):
    sample("renorm", shrunk(_p, _most), ANY, p=_p, axis=0, max_norm=_most)
    sample("renorm", shrunk(_p, _most), CUBE[:, 0], p=_p, axis=-2, max_norm=_most)

for _name, _truth in {
    "logical_and": lambda x, y: bool(x) and bool(y),
    "logical_or": lambda x, y: bool(x) or bool(y),
    "logical_xor": lambda x, y: bool(x) != bool(y),
}.items():
    for _y in (OTHER, OTHER[0], OTHER * CONDITION):
        sample(_name, np.vectorize(_truth, otypes=[bool]), ANY, _y)
sample("logical_not", np.vectorize(lambda e: not e, otypes=[bool]), ANY)
SPECIAL = np.array([[np.nan, np.inf, 0.0], [-np.inf, 1.5, -0.0]])
sample("isnan", np.vectorize(lambda e: e != e, otypes=[bool]), SPECIAL)
sample("isinf", np.vectorize(lambda e: abs(e) == np.inf, otypes=[bool]), SPECIAL)
sample("isfinite", np.vectorize(lambda e: abs(e) < np.inf, otypes=[bool]), SPECIAL)

#: Rows that have cases in :data:`CASES` or separate tests instead of samples.
ELSEWHERE = {c.name for c in CASES} - {"where"} | {
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift"),
    *("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "random", "uniform"),
    "embedding_renorm",
}

NORMAL = [c for c in CASES if ROWS[c.name].normal]
IN_PLACE = [c for c in CASES if ROWS[c.name].in_place]


def tensors(given: Case) -> list[mt.Tensor]:
    """Return the operands of a case as tensors that require no gradient."""
    return [mt.to_tensor(array) for array in given.arrays]
