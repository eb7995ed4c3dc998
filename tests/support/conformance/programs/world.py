"""One run of a program on the reference: modes, operations, writes, gradients.

Every operation reads its operands completely, decides whether it may continue, and then writes. If the engine must
refuse, ``Refused`` is raised before anything changes. If the engine may refuse or continue, because a value saved for
backward was overwritten, the reference follows the engine's decision in ``engine_error``.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from . import cells as c
from .calculus import BINARY, REDUCTIONS, RULES, Dual, OutsideDomain, broadcast_shapes, constant, moderate, require
from .dtypes import DTYPES, computed, is_float, promoted, rounded
from .needs import NEEDS_OWN_INPUT, OUT, needed
from .tensor import CellTensor

#: Integers whose sums keep their dtype, as in Paddle.
SMALL = {DTYPES[name] for name in ("uint8", "int8", "int16")}
#: Default values: a call that passes one of them means the same as a call without the parameter.
DEFAULTS = {"axis": None, "keepdim": False}
OPERAND = (CellTensor, int, float, np.ndarray)
KEEPS_INTEGERS = {"neg", "round", "abs", "square", "relu", "scale", "clip", "fill", "zero", "clone", "expand", "where"}
KEEPS_INTEGERS |= {*BINARY, *REDUCTIONS, "matmul", "concat", "stack"} - {"divide", "mean"}


class World:
    """One run of one program: its modes, its directions, and the engine's error in the current statement.

    ``nudges`` moves elements of leaves when they are created; it maps (number of the leaf, element) to the distance.
    With ``strict`` the reference behaves like an engine that refuses whenever it may.
    """

    def __init__(self, policy: str = "2.6", strict: bool = False, nudges: dict | None = None):
        self.policy = policy
        self.strict = strict
        self.nudges = nudges or {}
        self.grad_enabled = True
        self.engine_error: Exception | None = None
        self.foreseen: tuple | None = None
        self.directions = 0
        self.leaves = 0
        #: (version now, version expected, reason) of stale tensors at the last backward
        self.stale_versions: set[tuple[int, int, str]] = set()
        self.groups: list[c.Group] = []
        self.retained: list[CellTensor] = []
        self.nn = self
        self.functional = self

    # ---- creation ----------------------------------------------------------------------------------------------------

    def to_tensor(self, data, dtype=None, stop_gradient=True):
        values = np.array(data)
        values = values.astype(DTYPES[dtype or {"f": "float32", "i": "int64", "b": "bool"}[values.dtype.kind]])
        if not stop_gradient:
            for element in range(values.size):
                values.flat[element] += self.nudges.get((self.leaves, element), 0.0)
            self.leaves += 1
        tensor = self.fresh(constant(values))
        if not stop_gradient:
            tensor.stop_gradient = False
        return tensor

    def zeros(self, shape, dtype="float32"):
        return self.full(shape, 0, dtype)

    def ones(self, shape, dtype="float32"):
        return self.full(shape, 1, dtype)

    def full(self, shape, fill_value, dtype="float32"):
        return self.fresh(constant(np.full(shape, fill_value, DTYPES[dtype])))

    def fresh(self, result: Dual, wants: bool = False) -> CellTensor:
        """Return a tensor on a new storage, in a new group."""
        storage = c.Storage(result.v.ravel().copy())
        tensor = CellTensor(self, storage, self.new_group(storage), storage.cells.reshape(result.v.shape))
        if wants:
            tensor.group.tangents[:] = result.t.reshape(tensor.group.tangents.shape)
            tensor.group.wants = True
        return tensor

    def new_group(self, storage: c.Storage) -> c.Group:
        self.groups.append(c.Group(storage))
        return self.groups[-1]

    def take_directions(self, count: int) -> slice:
        first, self.directions = self.directions, self.directions + count
        if self.directions > c.DIRECTIONS:
            raise OutsideDomain
        return slice(first, self.directions)

    # ---- modes -------------------------------------------------------------------------------------------------------

    @contextmanager
    def grad_mode(self, enabled: bool):
        before, self.grad_enabled = self.grad_enabled, enabled
        try:
            yield
        finally:
            self.grad_enabled = before

    def no_grad(self):
        return self.grad_mode(False)

    def enable_grad(self):
        return self.grad_mode(True)

    def set_inplace_policy(self, policy: str):
        """Set the policy immediately. In a ``with`` statement, restore the former policy at the end of the block."""
        before, self.policy = self.policy, policy

        @contextmanager
        def undone():
            try:
                yield
            finally:
                self.policy = before

        return undone()

    def refuse(self, must: list[c.Refusal], may: list[c.Refusal] = ()) -> None:
        """Raise ``Refused`` if the engine must refuse, or if it may refuse and did."""
        if self.strict and (must or may):
            self.raise_as_engine([*must, *may][0])
        if must:
            raise c.Refused([*must, *may])
        if may and self.engine_error is not None:
            raise c.Refused(list(may))

    def raise_as_engine(self, refusal: c.Refusal) -> None:
        """Raise the error that an engine would raise."""
        now, then, reason = min(self.stale_versions, default=(0, 0, ""))
        words = "doesn't stop gradient can't use inplace strategy, or its shape"
        words += f"; {c.NOTHING_LOST}" * (reason == c.STALE_VERSION.reason)
        raise refusal.errors[0](f"{words}; tensor_version:{now} != wrapper_version_snapshot:{then}: {refusal.reason}")

    def wants(self, operand) -> bool:
        return self.grad_enabled and isinstance(operand, CellTensor) and operand.group.wants

    # ---- aliases -----------------------------------------------------------------------------------------------------

    def make_view(self, tensor: CellTensor, cells: np.ndarray) -> CellTensor:
        """Return a view in the group of ``tensor``, or a detached alias if ``tensor`` needs a gradient and the view is
        taken under no_grad.
        """
        detached = tensor.group.wants and not self.grad_enabled
        group = self.new_group(tensor.storage) if detached else tensor.group
        view = CellTensor(self, tensor.storage, group, cells)
        view.folded = tensor.folded or c.overlaps_itself(tensor.cells)
        return view

    def alias(self, tensor: CellTensor) -> CellTensor:
        """Return a detached alias: the first tensor of another group on the same storage."""
        alias = CellTensor(self, tensor.storage, self.new_group(tensor.storage), tensor.cells)
        alias.folded = tensor.folded
        return alias

    def reshaped(self, tensor: CellTensor) -> None:
        """Do nothing, because a change of shape in place is no write. A planted fault overrides this method."""

    def gather(self, tensor: CellTensor, cells: np.ndarray, index_tensors: list, holds: bool) -> CellTensor:
        """Return a new tensor with a copy of some cells, in the order of ``cells``."""
        wants = self.wants(tensor)
        out = self.fresh(c.read(tensor.storage, tensor.group, cells), wants)
        if wants:
            out.group.record = c.Record([tensor.group.record], [c.Saved.of(i) for i in index_tensors], holds)
        return out

    # ---- operations --------------------------------------------------------------------------------------------------

    def dual(self, operand, dtype=None) -> Dual:
        """Return the numbers of an operand, rounded to ``dtype`` and then converted to the dtype in which operations
        compute.
        """
        if isinstance(operand, CellTensor):
            x = c.read(operand.storage, operand.group, operand.cells)
            x = x if self.wants(operand) else constant(x.v)
        else:
            x = constant(operand)
        if dtype is None or x.v.dtype == computed(dtype) == dtype:
            return x
        return Dual(x.v.astype(dtype).astype(computed(dtype)), x.t)

    def result_dtype(self, name: str, operands: list, params: dict) -> np.dtype:
        kinds = [o.dtype for o in operands if isinstance(o, (CellTensor, np.ndarray))]
        kinds = kinds[1:] if name == "where" else kinds
        dtype = promoted(kinds)
        numbers = [n for n in (*operands, *params.values()) if isinstance(n, float)]
        integers_stay = name in KEEPS_INTEGERS and (not numbers or name in ("fill", "zero"))
        if name in ("sum", "prod") and not is_float(dtype):
            keeps = dtype in SMALL if name == "sum" else dtype == np.int32
            return dtype if keeps else np.dtype("int64")
        return dtype if is_float(dtype) or integers_stay else np.dtype("float32")

    def foresee(self, name: str, operands: list, params: dict) -> None:
        """Evaluate an operation, and store the result for the statement that will perform it."""
        self.foreseen = name, operands, params, self.grad_enabled, self.evaluate(name, operands, params)

    def was_foreseen(self, name: str, operands: list, params: dict) -> bool:
        """True if the last call of ``foresee`` evaluated this operation."""
        if self.foreseen is None or self.foreseen[0] != name or self.foreseen[3] != self.grad_enabled:
            return False
        given, told = self.foreseen[1:3]
        return (
            len(given) == len(operands)
            and all(a is b or (type(a) is type(b) is float and a == b) for a, b in zip(given, operands, strict=True))
            and {**DEFAULTS, **told} == {**DEFAULTS, **params}
        )

    def evaluate(self, name: str, operands: list, params: dict) -> Dual:
        if self.was_foreseen(name, operands, params):
            result, self.foreseen = self.foreseen[4], None
            return result
        self.foreseen = None
        if name == "pow" and self.wants(operands[1]):
            require(self.dual(operands[0]).v > 0)  # for other bases the slope of the exponent is nan
        dtype = self.result_dtype(name, operands, params)
        if computed(dtype) != dtype:  # operands are rounded to the dtype of 16 bits, but not the result of each step
            operands = [rounded(o, dtype) for o in operands]
            params = {key: rounded(value, dtype) for key, value in params.items()}
        duals = [self.dual(o, None if name == "where" and i == 0 else dtype) for i, o in enumerate(operands)]
        result = moderate(RULES[name](*duals, **params))
        return Dual(result.v.astype(dtype), result.t)

    def normal(self, name: str, operands: list, params: dict) -> CellTensor:
        wrong = [o for o in operands if not isinstance(o, OPERAND)]
        self.refuse([c.ARGUMENT] if wrong else [])
        try:
            result = self.evaluate(name, operands, params)
        except ValueError:
            self.refuse([c.MISFIT])
        wants = [self.wants(o) for o in operands]
        out = self.fresh(result, any(wants))
        if any(wants):
            out.group.record = self.record(name, operands, wants, out)
        return out

    def inplace(self, name: str, target: CellTensor, others: list, params: dict) -> CellTensor:
        operands = [target, *others]
        self.check(name, operands, params)
        result = self.evaluate(name, operands, params)
        wants = [self.wants(o) for o in operands]
        recording = any(wants)
        self.write(target, target.cells, result, recording)
        if recording:
            target.group.record = self.record(name, operands, wants, target, inplace=True)
        return target

    def check(self, name: str, operands: list, params: dict) -> None:
        """Raise if the in-place operation is not allowed."""
        target, *others = operands
        if any(not isinstance(o, OPERAND) for o in others):
            self.refuse([c.ARGUMENT])
        must, may = self.unwritable(target), self.doubtful(target)
        try:
            shape = broadcast_shapes(*(np.shape(getattr(o, "cells", o)) for o in operands))
            must += [c.SHAPE] if shape != target.cells.shape else []
        except ValueError:
            must.append(c.MISFIT)
        stores = name in ("fill", "zero") or is_float(target.dtype)
        if not stores and (target.dtype.kind == "b" or is_float(self.result_dtype(name, operands, params))):
            must.append(c.DTYPE)
        wants = [self.wants(o) for o in operands]
        if self.policy == "2.5":
            needs = needed(name, wants)
            if 0 in needs and name in NEEDS_OWN_INPUT:
                must.append(c.OWN_INPUT)
            if any(i != OUT and (i == 0 or self.lies_in(operands[i], target)) for i in needs):
                may.append(c.OWN_INPUT)
        self.refuse(must, may)

    def unwritable(self, target: CellTensor) -> list[c.Refusal]:
        leaf = self.grad_enabled and target.group.leaf is not None
        overlaps = not target.cells.flags.c_contiguous and c.overlaps_itself(target.cells)  # contiguous cells never do
        return [c.LEAF] * leaf + [c.OVERLAP] * overlaps

    def doubtful(self, target: CellTensor) -> list[c.Refusal]:
        """Return the refusals that the engine may raise. If elements of a tensor share memory, the engine may refuse to
        write any view of the tensor, although the elements of that view may be separate.
        """
        return [c.OVERLAP] * target.folded

    @staticmethod
    def lies_in(operand, target: CellTensor) -> bool:
        """True if a write to ``target`` overwrites some of ``operand``."""
        return (
            isinstance(operand, CellTensor)
            and operand.storage is target.storage
            and c.overlap(operand.cells, target.cells)
        )

    def write(self, target: CellTensor, cells: np.ndarray, result: Dual, recording: bool) -> None:
        """Write values into cells, and tangents too if the write is recorded. If a cell occurs twice, the last value
        remains.
        """
        storage, group = target.storage, target.group
        last = {cell: i for i, cell in enumerate(cells.ravel().tolist())}
        where, which = list(last), list(last.values())
        storage.version += 1
        if self.policy != "copy_on_write":
            storage.harmful.append(storage.version)
        storage.values[where] = result.v.reshape(-1)[which]
        storage.written[where] = storage.version
        if not recording:
            return
        group.tangents[where] = result.t.reshape(-1, c.DIRECTIONS)[which]
        group.wants = True
        for tensor in self.retained:
            if tensor.group is group:
                tensor.follow_current_value()

    def record(self, name: str, operands: list, wants: list[bool], out: CellTensor, inplace: bool = False) -> c.Record:
        """Record the tensors that the last statement may have saved, at the versions that it expects."""
        needs = needed(name, wants)
        saves = [c.Saved.of(out)] if OUT in needs else []
        for i in needs - {OUT}:
            operand = operands[i]
            private = inplace and (
                i == 0 or self.lies_in(operand, out)
            )  # the operation saves a copy, because it overwrites this operand
            if isinstance(operand, CellTensor) and not private:
                saves.append(c.Saved.of(operand))
        parents = [o.group.record for o, wanting in zip(operands, wants, strict=True) if wanting]
        return c.Record(parents, saves, holds=bool(needs))

    # ---- gradients ---------------------------------------------------------------------------------------------------

    def differentiate(self, outputs: list, seeds: list, retain_graph: bool) -> tuple:
        """Return the derivative along every direction, the size of the terms that cancelled in it, and the visited
        records.
        """
        records = {r for o in outputs for r in o.group.record.ancestry()}
        may = [c.FREED for r in records if r.freed and r.holds]
        stale = [(s, reason) for r in records for s in r.saves if (reason := s.staleness())]
        self.stale_versions = {(s.storage.version, s.version, refusal.reason) for s, refusal in stale}
        may += [refusal for _, refusal in stale]
        derivative, noise = np.zeros(c.DIRECTIONS), np.zeros(c.DIRECTIONS)
        for output, seed in zip(outputs, seeds, strict=True):
            x = c.read(output.storage, output.group, output.cells)
            g = np.ones(x.v.shape) if seed is None else seed.storage.values[seed.cells]
            terms = (g[..., None] * x.t).reshape(-1, c.DIRECTIONS)
            derivative += terms.sum(0)
            noise += np.abs(terms).sum(0)
        if not retain_graph:
            for r in records:
                # A refused backward may free values too, because its effect on them is not specified.
                r.freed = True
        self.refuse([], may)
        return derivative, noise, records

    def accumulated(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return the gradient after one more backward."""
        return old + new

    def grad(self, outputs, inputs, grad_outputs=None, retain_graph=None, allow_unused=False):
        seeds = grad_outputs or [None] * len(outputs)
        derivative, noise, records = self.differentiate(outputs, seeds, bool(retain_graph))
        results = []
        for leaf in inputs:
            if leaf.group.record not in records:
                self.refuse([] if allow_unused else [c.ARGUMENT])
                results.append(None)
                continue
            results.append(self.fresh(constant(derivative[leaf.own_directions()].astype(leaf.dtype))))
            results[-1].noise = noise[leaf.own_directions()]
        wanted = {leaf.group.record for leaf in inputs}
        for tensor in self.retained:  # the pass visits only records that lead to an input
            if tensor.group.record in records and not wanted.isdisjoint(tensor.group.record.ancestry()):
                tensor.accumulate(derivative[tensor.own_directions()], noise[tensor.own_directions()])
        return results
