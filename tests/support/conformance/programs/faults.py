"""References with one planted mistake each. The comparison must notice each of them when it replaces the engine.

Every fault is a mistake that an engine could make or that a framework makes. ``noticed_by`` is the kind of disagreement
that it has to cause. If the comparison misses a fault, it cannot find that mistake in the engine either.
"""

from __future__ import annotations

import numpy as np

from . import cells as c
from .calculus import Dual
from .tensor import CellTensor
from .vocabulary import World
from .world import SMALL


class ViewsShareNoHistory(World):
    """As in Paddle 2.6.2, a view has a separate gradient, so the gradient of its base misses a write through the
    view.
    """

    noticed_by = "gradient"

    def make_view(self, tensor: CellTensor, cells: np.ndarray) -> CellTensor:
        group = self.new_group(tensor.storage)
        group.tangents[:] = tensor.group.tangents
        group.wants, group.record = tensor.group.wants, tensor.group.record
        return CellTensor(self, tensor.storage, group, cells)


class DetachKeepsTheGroup(World):
    """Gradients flow through a detached alias, although they must not."""

    noticed_by = "stop_gradient"

    def alias(self, tensor: CellTensor) -> CellTensor:
        return CellTensor(self, tensor.storage, tensor.group, tensor.cells)


class NoGradViewsPassGradients(World):
    """Gradients flow through a view that was taken under no_grad, although they must not."""

    noticed_by = "stop_gradient"

    def make_view(self, tensor: CellTensor, cells: np.ndarray) -> CellTensor:
        return CellTensor(self, tensor.storage, tensor.group, cells)


class ConstantsKeepTheGradient(World):
    """Values overwritten by a constant keep their old derivative."""

    noticed_by = "gradient"

    def write(self, target, cells, result, recording):
        if recording and not result.t.any():
            result = Dual(result.v, target.group.tangents[cells])
        super().write(target, cells, result, recording)


class NoGradWritesAreRecorded(World):
    """A write under no_grad clears the derivative of the overwritten values."""

    noticed_by = "gradient"

    def write(self, target, cells, result, recording):
        super().write(target, cells, result, True if not self.grad_enabled and target.group.wants else recording)


class FirstOfRepeatedIndicesCounts(World):
    """If setitem repeats an index, the derivative is that of the first value."""

    noticed_by = "gradient"

    def write(self, target, cells, result, recording):
        super().write(target, cells, result, recording)
        if recording:
            for i, cell in reversed(list(enumerate(cells.ravel().tolist()))):
                target.group.tangents[cell] = result.t.reshape(-1, c.DIRECTIONS)[i]


class VersionsMissWrites(World):
    """Filling does not count as a write."""

    noticed_by = "inplace_version"

    def inplace(self, name, target, others, params):
        before = target.storage.version
        super().inplace(name, target, others, params)
        if name in ("fill", "zero"):
            target.storage.version = before
        return target


class FailedWritesCount(World):
    """A refused write increments the version."""

    noticed_by = "inplace_version"

    def check(self, name, operands, params):
        try:
            super().check(name, operands, params)
        except Exception:
            operands[0].storage.version += 1
            raise


class ChecksAfterTheWrite(World):
    """As in Paddle 2.6.2, a leaf is overwritten before the error is raised."""

    noticed_by = "value"

    def check(self, name, operands, params):
        try:
            super().check(name, operands, params)
        except ValueError:
            if operands[0].group.leaf is not None and name in ("scale", "zero", "fill"):
                operands[0].storage.values[operands[0].cells] = 0.0
            raise


class ViewsOfLeavesMayBeWritten(World):
    """A leaf is protected, but a view of it is not."""

    noticed_by = "accepted"

    def unwritable(self, target):
        return [r for r in super().unwritable(target) if r != c.LEAF or target.group.leaf is target]


class ReadsWhatItOverwrote(World):
    """As in Paddle 2.6.2, x.subtract_(x[0]) reads an element that it has already overwritten."""

    noticed_by = "value"

    def evaluate(self, name, operands, params):
        result = super().evaluate(name, operands, params)
        x, y = operands[0], operands[-1]
        if name != "subtract" or not isinstance(x, CellTensor) or not self.lies_in(y, x) or y.cells.size > 1:
            return result
        first = np.arange(x.cells.size).reshape(x.cells.shape) == 0
        return Dual(np.where(first, result.v, self.dual(x).v), result.t)


class BackwardReplacesTheGradient(World):
    """A second backward replaces the gradient instead of adding to it."""

    noticed_by = "gradient"

    def accumulated(self, old, new):
        return new


class SavedValuesAreNotChecked(World):
    """Backward continues with overwritten values, and computes the derivative of the current values."""

    noticed_by = "gradient"

    def differentiate(self, outputs, seeds, retain_graph):
        strict, self.strict = self.strict, False
        try:
            derivative, noise, records = super().differentiate(outputs, seeds, retain_graph)
        finally:
            self.strict = strict
        stale = any(s.staleness() == c.STALE_BYTES for r in records for s in r.saves)
        return derivative * (1.001 if stale else 1.0), noise, records


class RefusesWithoutReason(World):
    """As in Paddle, multiply saves both operands even if only one of them needs a gradient."""

    noticed_by = "unjustified"

    def record(self, name, operands, wants, out, inplace=False):
        wants = [True] * len(wants) if name == "multiply" and any(wants) else wants
        operands = [o if isinstance(o, CellTensor) else out for o in operands]
        return super().record(name, operands, wants, out, inplace)


class AcceptsOwnInputUnder25(World):
    """Under policy 2.5, an in-place operation whose backward needs its own input is not refused."""

    noticed_by = "accepted"
    under = "2.5"

    def check(self, name, operands, params):
        policy, self.policy = self.policy, "2.6"
        try:
            super().check(name, operands, params)
        finally:
            self.policy = policy


class NothingIsPreserved(World):
    """Under copy on write, backward reads the current values."""

    noticed_by = "gradient"
    under = "copy_on_write"

    def differentiate(self, outputs, seeds, retain_graph):
        derivative, noise, records = super().differentiate(outputs, seeds, retain_graph)
        wrong = any(s.is_overwritten() for r in records for s in r.saves)
        return derivative * (1.1 if wrong else 1.0), noise, records


class VersionsDecideUnderCopyOnWrite(World):
    """Under copy on write, backward refuses a preserved value because its storage was written."""

    noticed_by = "unjustified"
    under = "copy_on_write"

    def write(self, target, cells, result, recording):
        super().write(target, cells, result, recording)
        target.storage.harmful = list(range(1, target.storage.version + 1))


class PolicyOfTheSaveDecides(World):
    """The policy at the time of saving decides about a write, instead of the policy at the time of the write."""

    noticed_by = "unjustified"
    under = "mixed"

    def record(self, name, operands, wants, out, inplace=False):
        record = super().record(name, operands, wants, out, inplace)
        record.preserving = self.policy == "copy_on_write"
        return record

    def differentiate(self, outputs, seeds, retain_graph):
        records = {r for o in outputs for r in o.group.record.ancestry()}
        for r in records:
            for s in r.saves:
                if not getattr(r, "preserving", True) and s.storage.version > s.version:
                    self.stale_versions = {(s.storage.version, s.version, c.STALE_BYTES.reason)}
                    self.raise_as_engine(c.STALE_BYTES)
        return super().differentiate(outputs, seeds, retain_graph)


class DtypesFollowTheOperand(World):
    """An integer tensor accepts a float result and truncates it."""

    noticed_by = "accepted"

    def check(self, name, operands, params):
        if operands[0].dtype.kind != "f":
            return
        super().check(name, operands, params)


class ShapeOperationsCount(World):
    """As in Paddle 2.6.2, an operation that changes only the shape increments the version."""

    noticed_by = "inplace_version"

    def reshaped(self, tensor):
        tensor.storage.version += 1


class InPlaceReturnsAnotherTensor(World):
    """An in-place operation returns another tensor on the same storage."""

    noticed_by = "sharing"

    def inplace(self, name, target, others, params):
        super().inplace(name, target, others, params)
        return CellTensor(self, target.storage, target.group, target.cells)


class SplitReturnsViews(World):
    """The results of split share memory with its input, as in PyTorch."""

    noticed_by = "sharing"

    def gather(self, tensor, cells, index_tensors, holds):
        return self.make_view(tensor, cells)


class WrongSlope(World):
    """The derivative of relu is 1 everywhere."""

    noticed_by = "gradient"

    def evaluate(self, name, operands, params):
        result = super().evaluate(name, operands, params)
        return Dual(result.v, self.dual(operands[0]).t) if name == "relu" else result


class IntegersSaturate(World):
    """Integers that overflow become the largest number of their dtype instead of wrapping around."""

    noticed_by = "value"

    def evaluate(self, name, operands, params):
        result = super().evaluate(name, operands, params)
        if name != "add" or result.v.dtype.kind not in "iu":
            return result
        exact = sum(np.asarray(self.dual(operand).v, np.float64) for operand in operands)
        bounds = np.iinfo(result.v.dtype)
        return Dual(np.clip(exact, bounds.min, bounds.max).astype(result.v.dtype), result.t)


class SumsAreLong(World):
    """The sum of small integers is int64, as in PyTorch."""

    noticed_by = "dtype"

    def result_dtype(self, name, operands, params):
        dtype = super().result_dtype(name, operands, params)
        return np.dtype("int64") if name == "sum" and dtype in SMALL else dtype


#: Faults that only programs with integers notice.
OF_INTEGERS = (IntegersSaturate, SumsAreLong)
FAULTS = [w for w in vars().values() if isinstance(w, type) and issubclass(w, World) and w not in (World, *OF_INTEGERS)]
