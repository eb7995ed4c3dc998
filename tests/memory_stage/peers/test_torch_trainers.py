"""Explain trainings that a trainer runs, through callbacks of Lightning and Transformers.

The packages are large, so the tests also run with stand-ins: a base class that has the documented hooks, and a loop
that calls them in the documented order.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

OVERWRITTEN = "overwrites `h`, which the backward pass"


class Net(torch.nn.Module):
    """A network that works, or whose third call writes into a saved tensor or a leaf, or whose calls keep graphs."""

    def __init__(self, fault):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
        self.fault, self.calls, self.kept = fault, 0, []

    def forward(self, x):
        self.calls += 1
        h = torch.sigmoid(self.a(x))
        y = self.b(h)
        if self.fault == "write" and self.calls == 3:
            h.mul_(2)
        if self.fault == "leaf" and self.calls == 3:
            self.a.weight.mul_(2)
        if self.fault == "leak":
            self.kept.append(self.b(h.exp()).sum())
        return y.square().mean()


# ---------- stand-ins ----------


class Callback:
    """The hooks that Lightning and Transformers document. By default they do nothing."""

    def __getattr__(self, name):
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def fit(module, callback):
    """Call the hooks as ``lightning.pytorch.Trainer.fit`` does."""
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    try:
        callback.on_fit_start(None, module)
        callback.on_train_start(None, module)
        for index in range(5):
            callback.on_train_batch_start(None, module, None, index)
            loss = module(torch.ones(2, 3))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            callback.on_train_batch_end(None, module, loss, None, index)
        callback.on_train_end(None, module)
        callback.on_fit_end(None, module)
    except BaseException as error:
        callback.on_exception(None, module, error)
        raise


def train(model, callback):
    """Call the hooks as ``transformers.Trainer.train`` does, which calls no hook after an error."""
    given = {"args": None, "state": None, "control": None, "model": model}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    callback.on_train_begin(**given)
    for _ in range(5):
        callback.on_step_begin(**given)
        model(torch.ones(2, 3)).backward()
        callback.on_pre_optimizer_step(**given)
        optimizer.step()
        callback.on_optimizer_step(**given)
        model.zero_grad()
        callback.on_step_end(**given)
    callback.on_train_end(**given)


STAND_INS = {
    "lightning": ("lightning.pytorch", "Callback", "LightningExplanation", fit),
    "transformers": ("transformers", "TrainerCallback", "TransformersExplanation", train),
}


@pytest.fixture(params=STAND_INS)
def trainer(request, monkeypatch):
    """Return a class of callbacks and the loop that calls their hooks."""
    package, base, explaining, run = STAND_INS[request.param]
    module = ModuleType(package)
    setattr(module, base, Callback)
    monkeypatch.setitem(sys.modules, package, module)
    if "." in package:
        monkeypatch.setitem(sys.modules, package.partition(".")[0], ModuleType("lightning"))
    name = f"memory_stage.integrations.{request.param}_callback"
    monkeypatch.delitem(sys.modules, name, raising=False)
    yield getattr(importlib.import_module(name), explaining), run
    sys.modules.pop(name, None)  # the class is derived from the stand-in


def test_a_correct_training_has_no_fault_and_is_not_watched_after_its_end(trainer, capsys):
    make, run = trainer
    callback = make()
    assert callback.explanation is None
    run(Net(""), callback)
    assert callback.explanation.faults == [] and torch._C._len_torch_function_stack() == 0
    assert capsys.readouterr().err.count("no fault of an in-place operation was found") == 1


def test_a_failing_backward_is_explained_once_when_it_fails(trainer, capsys):
    make, run = trainer
    callback = make()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        run(Net("write"), callback)
    (fault,) = callback.explanation.faults
    assert OVERWRITTEN in fault.verdict and [fix.diff()[1].split()[2:] for fix in fault.fixes[:1]] == [
        ["h", "=", "h.mul(2)"]
    ]
    assert " ".join(capsys.readouterr().err.split()).count(OVERWRITTEN) == 1


def test_a_training_after_a_failed_training_is_watched_separately(trainer, capsys):
    make, run = trainer
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        run(Net("write"), make())
    capsys.readouterr()
    run(Net(""), make())
    assert torch._C._len_torch_function_stack() == 0
    assert capsys.readouterr().err.count("no fault of an in-place operation was found") == 1


def test_graphs_that_the_model_keeps_are_found_at_the_end(trainer):
    make, run = trainer
    callback = make()
    run(Net("leak"), callback)
    (fault,) = callback.explanation.faults
    assert fault.kind == "leak" and ".kept` keeps 5 results with their graphs" in fault.verdict


def test_only_the_trainer_of_lightning_passes_an_error_outside_of_backward_to_the_callback(trainer):
    make, run = trainer
    callback = make()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        run(Net("leaf"), callback)
    kinds = [fault.kind for fault in callback.explanation.faults]
    assert kinds == (["refused"] if run is fit else [])
    make()._training.begin(None, {})  # ends the training that the trainer of Transformers did not end
    type(callback._training)._open.end()
    assert torch._C._len_torch_function_stack() == 0


# ---------- the packages, where they are installed ----------


def test_real_lightning_calls_the_hooks(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    from memory_stage.integrations.lightning_callback import LightningExplanation

    class Module(lightning.LightningModule):
        def __init__(self, fault):
            super().__init__()
            self.net = Net(fault)

        def training_step(self, batch, index):
            return self.net(batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    for fault in ("", "write", "leaf"):
        callback = LightningExplanation()
        quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
        fitting = lightning.Trainer(max_epochs=1, callbacks=[callback], accelerator="cpu", **quiet)
        data = torch.utils.data.DataLoader(torch.randn(20, 3), batch_size=4)
        if fault:
            with pytest.raises(RuntimeError):
                fitting.fit(Module(fault), data)
        else:
            fitting.fit(Module(fault), data)
        expected = {"": [], "write": ["overwritten"], "leaf": ["refused"]}[fault]
        assert [each.kind for each in callback.explanation.faults] == expected
        assert torch._C._len_torch_function_stack() == 0


def test_real_transformers_calls_the_hooks(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from memory_stage.integrations.transformers_callback import TransformersExplanation

    class Model(torch.nn.Module):
        def __init__(self, fault):
            super().__init__()
            self.net = Net(fault)

        def forward(self, x, labels=None):
            return {"loss": self.net(x)}

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), num_train_epochs=1, per_device_train_batch_size=4, report_to=[], save_strategy="no",
        logging_strategy="no", use_cpu=True, disable_tqdm=True, remove_unused_columns=False,
    )  # fmt: skip
    data = [{"x": torch.randn(3), "labels": torch.ones(())} for _ in range(20)]
    for fault in ("write", ""):
        callback = TransformersExplanation()
        trainer = transformers.Trainer(Model(fault), arguments, train_dataset=data, callbacks=[callback])
        if fault:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                trainer.train()
        else:
            trainer.train()
        assert [each.kind for each in callback.explanation.faults] == (["overwritten"] if fault else [])
    assert torch._C._len_torch_function_stack() == 0
