"""References with one planted mistake each. If such a reference replaces the engine, the judge must notice the mistake.

Every fault is a mistake that an engine could make. ``noticed_by`` is the kind of disagreement that it has to cause
under the policies of ``plan``. If the judge misses a fault, it cannot find that mistake in the engine either.
"""

from __future__ import annotations

from .reference import Tensor, World
from .saved import LEAF, UNHARMED, Refused


class ViewsShareNoHistory(World):
    """A view has a separate gradient, so the gradient of its base misses a write through the view."""

    plan, noticed_by = "2.6", "gradient"

    def make_view(self, tensor, pick):
        seen = super().make_view(tensor, pick)
        seen.tangents = seen.tangents.copy()
        return seen


class DetachKeepsTheGroup(World):
    """Gradients flow through a detached alias, although they must not."""

    plan, noticed_by = "2.6", "stop_gradient"

    def alias(self, tensor):
        return Tensor(self, tensor.storage, tensor.group, tensor.cells, tensor.values, tensor.tangents)


class NoGradWritesAreRecorded(World):
    """A write under no_grad clears the derivative of the overwritten values."""

    plan, noticed_by = "2.6", "gradient"

    def write(self, target, values, tangents, recorded):
        super().write(target, values, tangents, recorded or not self.grad_enabled)


class ReadsWhatItOverwrote(World):
    """An operand that overlaps the target is read again after the target was overwritten."""

    plan, noticed_by = "2.6", "value"

    def in_place(self, name, target, operands, parameters=()):
        super().in_place(name, target, operands, parameters)
        if name == "copy" and operands[1].overlaps(target):
            target.values[...] = operands[1].values.copy()
        return target


class FillingIsNoWrite(World):
    """Filling a tensor does not raise its version."""

    plan, noticed_by = "2.6", "inplace_version"

    def in_place(self, name, target, operands, parameters=()):
        super().in_place(name, target, operands, parameters)
        if name == "fill":
            target.storage.writes.pop()
        return target


class ViewsOfLeavesMayBeWritten(World):
    """A leaf is protected, but a view of it is not."""

    plan, noticed_by = "2.6", "accepted"

    def unwritable(self, target):
        return [reason for reason in super().unwritable(target) if reason is not LEAF or hasattr(target, "directions")]


class StaleValuesAreRead(World):
    """Backward continues with overwritten values, and computes the derivative at the current values."""

    plan, noticed_by = "2.6", "accepted"

    def saved_for(self, outputs):
        return []


class OnlyTheFirstWriteIsPreserved(World):
    """Copy on write preserves values only at the first write, so after a second one the gradient is wrong without an
    error.
    """

    plan, noticed_by = "copy_on_write", "gradient"

    def differentiate(self, outputs, weights):
        derivative = super().differentiate(outputs, weights)
        missed = any(len(saved.writes) > saved.version + 1 for saved in self.saved_for(outputs))
        return derivative * 1.001 if missed else derivative


class PolicyOfTheSaveDecides(World):
    """The policy at the time of saving decides about a write, instead of the policy at the time of the write."""

    plan, noticed_by = "copy_on_write:2.6", "accepted"

    def saved_for(self, outputs):
        return [s for s in super().saved_for(outputs) if s.policy != "copy_on_write"]

    def save(self, i, operands, out):
        saved = super().save(i, operands, out)
        saved.policy = self.policy
        return saved


class EveryErrorSaysThatBytesWereLost(World):
    """The error says that bytes were overwritten although only the version of their storage changed."""

    plan, noticed_by = "2.6", "error"

    def differentiate(self, outputs, weights):
        try:
            return super().differentiate(outputs, weights)
        except Refused as refused:
            refused.args = (str(refused).replace(UNHARMED, ""),)
            raise


class NoErrorSaysThatBytesWereLost(World):
    """The error always says that no bytes were overwritten."""

    plan, noticed_by = "2.6", "error"

    def differentiate(self, outputs, weights):
        try:
            return super().differentiate(outputs, weights)
        except Refused as refused:
            refused.args = (f"{refused} {UNHARMED}.",)
            raise


class CopiesTheInputUnder25(World):
    """Under the policy "2.5", an in-place operation whose backward needs its own input is not refused."""

    plan, noticed_by = "2.5", "accepted"

    def in_place(self, name, target, operands, parameters=()):
        policy, self.policy = self.policy, "2.6"
        try:
            return super().in_place(name, target, operands, parameters)
        finally:
            self.policy = policy


class SavesMoreThanItNeeds(World):
    """The hyperbolic tangent also saves its input, so backward is refused after a write to the input."""

    plan, noticed_by = "2.6", "unjustified"

    def normal(self, name, *operands):
        out = super().normal(name, *operands)
        if name == "tanh":
            out.group.record.saves.append(self.save(0, operands, out))
        return out


FAULTS = [w for w in vars().values() if isinstance(w, type) and issubclass(w, World) and w is not World]
