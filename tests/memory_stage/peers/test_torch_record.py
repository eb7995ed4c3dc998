"""Test recordings of PyTorch programs: the operations, reports of code that is not recorded, unchanged programs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")

import numpy as np  # noqa: E402

import memory_stage as stage  # noqa: E402
import minitensor as mt  # noqa: E402
from memory_stage.engines.protocol import NotRecordable  # noqa: E402
from memory_stage.engines.torch.engine import engine  # noqa: E402
from memory_stage.engines.torch.function_mode import Mode  # noqa: E402
from memory_stage.recorder import record  # noqa: E402
from memory_stage.trace.validation import problems  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
NN = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np}


def run(source: str, **names):
    """Return the variant of a program, and the error that ended it."""
    shown = stage.record(source, {**NN, **names})
    variant = shown.data["variants"][0]
    return variant, shown.error


def events(variant: dict, do: str, line: int | None = None) -> list[dict]:
    return [e for step in variant["steps"] if line in (None, step["line"]) for e in step["events"] if e["do"] == do]


def sentences(variant: dict) -> list[str]:
    return [step["say"] for step in variant["steps"]]


def names_of(variant: dict) -> set[str]:
    return {event["name"] for event in events(variant, "name")}


# ---------- one program ----------

CLASSIC = """
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = x * 1
v = b[0:2]
y = b * b
v.mul_(10)
y.sum().backward()
"""


def test_a_stale_tensor_is_reported_at_the_write_and_at_the_node_that_needs_it():
    variant, error = run(CLASSIC)
    said = sentences(variant)
    assert "modified by an inplace operation" in str(error)
    assert said[4].startswith("`mul_` writes 2 cells of storage 2 through `v`: version 1.")
    assert (
        "`mul` (line 4) saved version 0, and those numbers are gone: `backward` through it will be refused." in said[4]
    )
    assert said[-1] == "`mul` (line 4) needs `b` at version 0 but finds version 1, so `backward` raises."
    (stale,) = events(variant, "stale")
    assert stale["lost"] and len(stale["ids"]) == 2


def test_the_trace_follows_the_schema():
    shown = stage.record(CLASSIC, dict(NN))
    assert list(problems(shown.data)) == []
    assert shown._repr_mimebundle_()["text/html"]


def test_a_write_to_other_cells_changes_only_the_version():
    variant, error = run(
        "x = torch.ones(4, requires_grad=True)\nb = x * 1\ny = b[0:2].exp() * b[0:2]\nb[3] = 7\ny.sum().backward()"
    )
    assert error is not None
    assert [event["lost"] for event in events(variant, "stale", 4)] == [False]


def test_backward_has_steps_and_gradients():
    variant, error = run("w = torch.tensor([1.0, 2.0], requires_grad=True)\ny = (w * w).sum()\ny.backward()")
    assert error is None
    said = sentences(variant)
    assert any("`mul` (line 2) sends [1, 2] and [1, 2] to `w@0`: [2, 4] together." in each for each in said)
    assert said[-1].startswith("`backward` is done: `w.grad` is [2, 4]")
    assert events(variant, "release")


def test_bytes_rise_and_fall_with_storages():
    variant, _ = run("x = torch.ones(1000)\ny = x[::2]\ndel x\ny = None\nz = torch.ones(10)")
    assert [step["allocated"] for step in variant["steps"]] == [4000, 4000, 4000, 0, 40]


# ---------- kinds of programs ----------


def test_parameters_have_the_names_of_the_program_and_an_optimizer_step_writes_each_of_them():
    variant, error = run(
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 3), nn.Linear(3, 1)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=True)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
opt.step()
"""
    )
    assert error is None
    assert {"net.layers[0].weight", "net.layers[1].bias", "net.layers[0].weight.grad"} <= names_of(variant)
    assert any(name.startswith("opt.momentum_buffer of net.layers[0].weight") for name in names_of(variant))
    written = {event["storage"] for event in events(variant, "write", 13)}
    assert len(written) == 4


def test_an_optimizer_step_between_forward_and_backward_makes_a_saved_tensor_stale():
    variant, error = run(
        "w = nn.Parameter(torch.ones(2))\nopt = torch.optim.SGD([w], lr=0.1)\n(w * w).sum().backward()\n"
        "loss = (w * w).sum()\nopt.step()\nloss.backward()"
    )
    assert error is not None and events(variant, "stale", 5)


def test_a_fused_optimizer_step_increments_no_version_and_is_found_by_comparing_bytes():
    variant, error = run(
        "w = nn.Parameter(torch.ones(2))\nopt = torch.optim.Adam([w], lr=0.1, fused=True)\nloss = (w * w).sum()\n"
        "loss.backward(retain_graph=True)\nopt.step()\nloss.backward()"
    )
    assert error is None
    unversioned = [event for event in events(variant, "write", 5) if event.get("unversioned")]
    assert unversioned
    assert any(
        "`mul` (line 3) saved them: `backward` will silently use the new ones." in said for said in sentences(variant)
    )


def test_batch_norm_writes_its_averages_without_a_version():
    variant, _ = run("bn = nn.BatchNorm1d(2)\ny = bn(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))")
    storages = {event["storage"] for event in events(variant, "write", 2) if event.get("unversioned")}
    tensors = {
        event["id"]: event["storage"]
        for event in [*variant.get("before", []), *events(variant, "tensor")]
        if event["do"] == "tensor"
    }
    named = {event["name"]: tensors[event["tensor"]] for event in events(variant, "name")}
    assert storages == {named["bn.running_mean"], named["bn.running_var"]}


def test_custom_functions_hooks_and_checkpoints_are_recorded():
    variant, error = run(
        """
from torch.utils.checkpoint import checkpoint
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2
w = torch.ones(2, requires_grad=True)
seen = []
def hook(g):
    seen.append(g)
y = Double.apply(w * 1)
y.register_hook(hook)
y.sum().backward()
for reentrant in (True, False):
    checkpoint(lambda t: t.sin() * t, w * 1, use_reentrant=reentrant).sum().backward()
"""
    )
    assert error is None
    assert any(event["what"] == "tensors[0]" for event in events(variant, "save"))
    assert "seen[0]" in names_of(variant)


def test_a_write_through_data_increments_no_version_of_the_tensor():
    variant, error = run(
        "x = torch.ones(2, requires_grad=True)\ny = x * 1\nz = y * y\ny.data.mul_(5)\nz.sum().backward()"
    )
    assert error is None
    (write,) = events(variant, "write", 4)
    assert write["unversioned"]
    assert "not notice" in " ".join(sentences(variant))


def test_writes_of_numpy_to_shared_memory_increment_no_version():
    variant, error = run(
        "m = np.arange(4.0)\nt = torch.from_numpy(m)\nm[1] = 7\nu = torch.from_dlpack(m)\nu.mul_(2)\n"
        "x = torch.ones(2)\nn = x.numpy()\nn[0] = 5"
    )
    assert error is None
    assert [event["unversioned"] for line in (3, 8) for event in events(variant, "write", line)] == [True, True]
    assert {"t", "m", "u", "n"} <= names_of(variant)


def test_tensors_that_share_memory_through_dlpack_have_one_storage_and_separate_versions():
    variant, error = run(
        "x = torch.arange(4.0)\nv = x[1:]\nd = torch.from_dlpack(v)\nd.mul_(10)\nd[1] = 7\ndel d\ny = x + 1\n"
        "e = torch.from_dlpack(x)\nx.add_(1)"
    )
    assert error is None
    assert names_of(variant) >= {"x", "v", "d", "e"}
    storages = {
        event["tensor"] if "tensor" in event else event["id"]: event["storage"] for event in events(variant, "tensor")
    }
    named = {event["name"]: storages[event["tensor"]] for event in events(variant, "name")}
    assert named["d"] == named["x"] == named["e"] != named["y"]
    (write,) = events(variant, "write", 4)
    assert write["unversioned"] and write["storage"] == named["x"]
    assert "through `d`" in sentences(variant)[3]
    (item,) = events(variant, "write", 5)
    assert "7" in str(item) and "2" in str(item["cells"])
    assert variant["steps"][-1]["allocated"] == 32


def test_a_write_through_dlpack_to_a_saved_tensor_has_no_version():
    variant, error = run(
        "w = torch.ones(2, requires_grad=True)\nx = w * 1\nd = torch.from_dlpack(x.detach())\ny = x * x\n"
        "d.mul_(5)\ny.sum().backward()"
    )
    assert error is None and "silently use the new" in " ".join(sentences(variant))


def test_memory_borrowed_from_numpy_is_not_counted():
    variant, _ = run("m = np.arange(4.0)\nt = torch.from_numpy(m)")
    assert variant["steps"][-1]["allocated"] == 0


def test_bfloat16_and_complex_numbers_are_shown():
    variant, _ = run("b = torch.full((2,), 1.5, dtype=torch.bfloat16)\nc = torch.ones(1, dtype=torch.complex64) * 2j")
    values = [event["values"] for event in events(variant, "storage")]
    assert {"0": "1.5", "1": "1.5"} in values and {"0": "0+2j"} in values


def test_one_program_may_use_torch_and_minitensor():
    variant, error = run(
        "a = torch.ones(2, requires_grad=True)\nb = mt.ones([2])\nb.add_(b)\n(a * a).sum().backward()", mt=mt
    )
    assert error is None
    assert sentences(variant)[2].startswith("`add_` writes all 2 cells of storage 2")
    assert "`a.grad` is [2, 2]" in sentences(variant)[-1]


# ---------- code that is reported but not recorded ----------


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("s = torch.eye(2).to_sparse()", "a sparse tensor"),
        ("m = torch.ones(2, device='meta')", "the device meta"),
        ("with torch.inference_mode():\n    i = torch.ones(2) + 1", "a tensor of inference mode"),
        ("v = torch.func.vmap(lambda a: a * 2)(torch.ones(2, 2))", "a transform of torch.func"),
        ("f = torch.ones(2).to(torch.float8_e4m3fn)", "dtype float8_e4m3fn"),
    ],
)
def test_tensors_that_cannot_be_recorded_are_reported_and_the_program_continues(source, named):
    variant, error = run(f"{source}\nx = torch.ones(2)\nx.add_(1)")
    assert error is None and named in " ".join(sentences(variant))
    assert sentences(variant)[-1].startswith("`add_` writes all 2 cells")


def test_a_compiled_function_is_reported_and_runs_unchanged():
    source = "f = torch.compile(lambda x: x * 2 + 1, backend='eager')\nx = torch.ones(2)\ny = f(x)\nz = f(y)\nz.add_(1)"
    variant, error = run(source)
    assert error is None and "`torch.compile`" in " ".join(sentences(variant))
    assert variant["truncated"] is None and events(variant, "write", 5)


def test_swapping_two_tensors_ends_the_recording_but_not_the_program():
    names = dict(NN)
    shown = stage.record("a = torch.ones(3)\nb = torch.zeros(2)\ntorch.utils.swap_tensors(a, b)\nc = a + 1", names)
    assert shown.error is None and names["c"].tolist() == [1, 1]
    assert "swap_tensors" in shown.data["variants"][0]["truncated"]


def test_an_older_version_of_torch_is_refused_with_a_message(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.6.0+cpu")
    with pytest.raises(NotRecordable, match=r"PyTorch 2\.6\.0\+cpu is not recorded\. Recording needs 2\.10 or later\."):
        engine()


# ---------- recording does not change the program ----------


def stack_of_modes() -> int:
    return torch._C._len_torch_function_stack()


@pytest.mark.parametrize("source", ["x = torch.ones(2)", "raise ValueError", "x = torch.ones(2)\n" * 30])
def test_the_patched_functions_of_torch_are_restored_after_a_recording(source):
    real = [
        torch.autograd._engine_run_backward,
        torch.compile,
        torch.utils.swap_tensors,
        torch.overrides.has_torch_function,
    ]
    before = stack_of_modes()
    stage.record(source, dict(NN), steps=7)
    after = [
        torch.autograd._engine_run_backward,
        torch.compile,
        torch.utils.swap_tensors,
        torch.overrides.has_torch_function,
    ]
    assert after == real and stack_of_modes() == before == 0


def test_a_fault_of_the_recorder_ends_the_recording_but_not_the_program(monkeypatch):
    monkeypatch.setattr(record, "STRICT", False)

    def broken(*arguments):
        raise RuntimeError("a planted fault")

    monkeypatch.setattr(Mode, "_after", broken)
    names = dict(NN)
    shown = stage.record("x = torch.ones(2)\ny = x + 1\nz = (y * y).sum()", names)
    assert shown.error is None and names["z"].item() == 8
    assert "a planted fault" in shown.data["variants"][0]["truncated"]


def test_a_fault_of_the_recorder_in_a_hook_of_backward_does_not_end_backward(monkeypatch):
    from memory_stage.engines.torch.backward import _Pass

    monkeypatch.setattr(record, "STRICT", False)
    monkeypatch.setattr(_Pass, "after_node", lambda *arguments: 1 / 0)
    names = dict(NN)
    shown = stage.record("x = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()", names)
    assert shown.error is None and names["x"].grad.tolist() == [2, 2]
    assert "ZeroDivisionError" in shown.data["variants"][0]["truncated"]


def test_a_storage_can_be_resized_after_it_was_recorded():
    names = dict(NN)
    assert stage.record("x = torch.ones(2)\ny = x + 1", names).error is None
    names["x"].resize_(100)
    assert names["x"].untyped_storage().resizable()


def test_the_recorder_does_not_update_an_outdated_view():
    source = """
x = torch.ones(4, requires_grad=True)
b = x * 1
v = b.view(2, 2)
b.mul_(2)
w = v.sum()
text = w.grad_fn.next_functions[0][0].name()
"""
    plain = dict(NN)
    exec(source, plain)
    watched = dict(NN)
    assert stage.record(source, watched).error is None
    assert watched["text"] == plain["text"]


def test_a_layer_in_evaluation_uses_the_fast_path():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True).eval()
    x = torch.randn(1, 3, 8)
    source = "with torch.no_grad():\n    y = layer(x)"
    names = {**NN, "layer": layer, "x": x}
    exec(source, names)
    watched = {**NN, "layer": layer, "x": x}
    stage.record(source, watched)
    assert watched["y"].numpy().tobytes() == names["y"].numpy().tobytes()


def test_another_thread_and_a_forked_process_run_without_the_recorder():
    variant, error = run(
        """
import threading
from torch.utils.data import DataLoader, TensorDataset
x = torch.ones(3)
def work():
    x.add_(1)
t = threading.Thread(target=work)
t.start()
t.join()
batches = [b.sum().item() for b, in DataLoader(TensorDataset(torch.arange(4.0)), batch_size=2, num_workers=1)]
""",
        threading=threading,
    )
    assert error is None
    assert events(variant, "write")


def test_a_function_mode_that_the_program_enters_stays_active_after_the_recording():
    source = """
from torch.overrides import TorchFunctionMode
class Mine(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        heard.append(func)
        return func(*args, **(kwargs or {}))
heard = []
mode = Mine()
mode.__enter__()
x = torch.ones(2)
y = x + 1
"""
    names = dict(NN)
    try:
        shown = stage.record(source, names, steps=5)
        assert shown.error is None and len(names["heard"]) == 2
        assert stack_of_modes() == 1
    finally:
        names["mode"].__exit__(None, None, None)
    assert stack_of_modes() == 0


def test_a_program_may_set_and_reset_the_default_device():
    names = dict(NN)
    shown = stage.record(
        "torch.set_default_device('cpu')\nx = torch.ones(2)\ntorch.set_default_device(None)\ny = x + 1", names
    )
    assert shown.error is None and stack_of_modes() == 0


def test_tensors_are_freed_when_the_program_drops_them():
    import gc
    import weakref

    gone = []
    names = {**NN, "watch": lambda x: weakref.finalize(x, gone.append, 1), "gone": gone}
    gc.disable()
    try:
        stage.record("x = torch.ones(2, requires_grad=True)\ny = (x * 2).exp()\nwatch(y)\ndel y\nn = len(gone)", names)
    finally:
        gc.enable()
    assert names["n"] == 1


def test_a_warning_names_the_programs_line():
    source = "x = torch.ones(2, requires_grad=True)\ny = x * 1\ng = y.grad"
    with pytest.warns(UserWarning, match=r"\.grad attribute of a Tensor that is not a leaf") as warned:
        assert stage.record(source, dict(NN)).error is None
    assert [(Path(each.filename).name[:6], each.lineno) for each in warned] == [("<stage", 3)]


def test_nothing_imports_torch_unless_the_program_does():
    program = (
        "import sys\nimport minitensor as mt\nimport memory_stage as stage\n"
        "stage.record('x = mt.ones([2])\\nx.add_(x)')\nassert 'torch' not in sys.modules\n"
        "shown = stage.record('import torch\\nx = torch.ones(2)\\nx.add_(1)')\n"
        "import json\nprint(json.dumps([step['say'] for step in shown.data['variants'][0]['steps']]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert json.loads(done.stdout)[-1].startswith("`add_` writes all 2 cells of storage 1")


def test_sentences_that_only_torch_programs_produce_occur():
    several, _ = run("x = torch.ones(2, 2, requires_grad=True)\na, b = (x * 1).unbind()\na.add_(1)")
    assert "is refused: it would write `a`, one of several views that one call returned." in sentences(several)[-1]
    nothing, error = run(
        "x = torch.ones(2, requires_grad=True)\na = x * 1\nwith torch.no_grad():\n    d = a[0:1]\nd.sum().backward()"
    )
    assert error is None
    assert any(
        "and sends nothing on, because its result does not depend on an earlier value." in said
        for said in sentences(nothing)
    )


# ---------- other functions that record ----------


def test_programs_of_pytorch_can_be_traced_compared_and_saved(tmp_path):
    def spoil(x):
        y = x * x
        x.add_(1)
        return y

    shown = stage.trace(spoil, torch.ones(2))
    assert shown.result.tolist() == [1, 1] and len(shown.data["variants"][0]["steps"]) > 3
    compared = stage.compare(
        {"in place": "x = torch.rand(2)\nx.add_(1)", "normal": "x = torch.rand(2)\ny = x + 1"},
        namespace={"torch": torch},
    )
    first = [variant["steps"][0]["events"][0]["values"] for variant in compared.data["variants"]]
    assert first[0] == first[1]  # the same random numbers
    stage.save(tmp_path / "page.html", compared)
    assert "add_" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "kept",
    [
        "h.register_hook(lambda g: kept.append(g))",
        "h.register_hook(kept.append)",
        "w.register_post_accumulate_grad_hook(lambda w: kept.append(w.grad))",
        "h = Mine.apply(h)",
    ],
)
def test_a_gradient_that_the_program_obtains_is_not_recorded_as_an_earlier_tensor(kept):
    program = (
        "kept = []\n"
        "class Mine(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
        "    @staticmethod\n    def backward(ctx, g):\n        kept.append(g)\n        last = g\n        return g * 2\n"
        f"w = torch.ones(2, requires_grad=True)\nh = w * 3\n{kept}\n(h * h).sum().backward()\n"
    )
    (variant,) = stage.record(program, {"torch": torch}).data["variants"]
    assert variant.get("before") is None
    first = next(step for step in variant["steps"] if "makes a leaf" in step["say"])
    assert first["allocated"] == 8
    w_h_and_gradients = 24 if "accumulate" in kept else 32  # this hook keeps w.grad itself
    assert variant["steps"][-1]["allocated"] == w_h_and_gradients
