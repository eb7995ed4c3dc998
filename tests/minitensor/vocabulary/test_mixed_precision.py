"""Compare automatic casts and loss scalers with the records of PyTorch and Paddle in facts/autocasting.json."""

from __future__ import annotations

import gc
import json
import threading
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor import amp, torch
from minitensor.engine.autocasting import NAMES, PADDLE
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.modes import casting, modes
from minitensor.engine.table import ROWS
from tools.build import ROOT

pytest.importorskip("ml_dtypes")

RECORDS = json.loads((ROOT / "facts" / "autocasting.json").read_text(encoding="utf-8"))
PYTORCHS = RECORDS["torch 2.13.0"]["answers"]


def answered(question: str) -> dict[str, Any]:
    """Run PyTorch's recorded program in minitensor. Return its variables, and under "error" the error if it raises
    one.
    """
    names: dict[str, Any] = {"torch": torch}
    try:
        exec(PYTORCHS[question]["program"].replace("import torch", ""), names)
    except (RuntimeError, ValueError, AssertionError) as error:
        names["error"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return names


@pytest.fixture(autouse=True)
def autocast_is_off_after_each_test():
    yield
    assert (modes.casts, modes.cast_copies, casting.threads) == (None, None, 0)


# ---------- operations that are cast ----------


@pytest.mark.parametrize("function", sorted({n.split()[0] for n in PYTORCHS["what a CPU casts"]["values"]["found"]}))
def test_autocast_for_a_cpu_casts_the_same_operations_as_in_pytorch(function: str):
    recorded = PYTORCHS["what a CPU casts"]["values"]["found"]
    names: dict[str, Any] = {"torch": torch}
    exec(PYTORCHS["what a CPU casts"]["program"].partition("found = {}")[0], names)
    name = next(each for each in names["functions"] if each.split()[0] == function)
    for low in (torch.bfloat16, torch.float16):
        dtypes = torch.float32, low, torch.float64
        with torch.autocast("cpu", dtype=low):
            found = [names["given"](names["functions"][name], dtype) for dtype in dtypes]
        if function == "mv":  # minitensor computes mv as a matrix product, which autocast casts
            assert recorded[f"{name} {low}"][0] == "float32"
            found[0] = "float32" if found[0] == str(low).removeprefix("torch.") else found[0]
        assert found == recorded[f"{name} {low}"]


def test_autocast_for_cuda_casts_more_operations_to_float32():
    x = torch.ones(4, 4)
    with torch.autocast("cuda"):
        y = x @ x
        assert y.dtype == torch.float16
        for name in ("exp", "log", "sum", "softmax", "pow", "norm"):
            given = {"softmax": (-1,), "pow": (3,)}.get(name, ())
            assert getattr(y, name)(*given).dtype == torch.float32, name
        assert (y + y).dtype == y.relu().dtype == y.mean().dtype == torch.float16


def test_the_lists_of_cast_operations_equal_those_recorded_from_paddle():
    """minitensor's lists contain exactly those operations of Paddle's lists that minitensor has."""
    names = {"linear_v2": "linear", "matmul_v2": "matmul", "softmax_with_cross_entropy": "cross_entropy",
             "reduce_sum": "sum", "reduce_mean": "mean", "reduce_prod": "prod"}  # fmt: skip
    for version in ("paddle 2.6.2", "paddle 3.3.1"):
        lists = RECORDS[version]["answers"]["lists"]["values"]
        for word, ours in (("low", PADDLE.low - {"linear"}), ("wide", PADDLE.wide)):
            recorded = {names.get(each, each) for each in lists[word]}
            assert ours <= recorded
            known = {each for each in recorded if each in ROWS or each in NAMES}
            assert known - {"linear"} == ours


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_auto_cast_casts_operands_by_paddles_lists(dtype: str):
    x, layer = mt.ones([4, 4]), mt.nn.Linear(4, 2)
    with amp.auto_cast(dtype=dtype):
        y = layer(x)
        assert y.dtype == (x @ x).dtype == (y + y).dtype == dtype
        assert y.exp().dtype == y.sum().dtype == y.mean().dtype == mt.nn.functional.softmax(y).dtype == "float32"
        assert mt.nn.functional.cross_entropy(y, mt.zeros([4], "int64")).dtype == "float32"
        with amp.auto_cast(enable=False):
            assert layer(x).dtype == "float32"
        with amp.auto_cast(level="O0"):
            assert layer(x).dtype == "float32"
    with amp.auto_cast(custom_white_list=["exp"], custom_black_list={"matmul"}, dtype=dtype):
        assert x.exp().dtype == dtype and (x @ x).dtype == "float32" and layer(x).dtype == dtype
    assert layer(x).dtype == "float32"


def test_a_decorated_function_runs_inside_the_autocast_context():
    x = torch.ones(2, 2)

    @torch.autocast("cpu")
    def product(a: Any, depth: int) -> Any:
        return a @ a if depth == 0 else product(a, depth - 1)

    assert product(x, 3).dtype == torch.bfloat16 and (x @ x).dtype == torch.float32
    y = mt.ones([2, 2])
    assert amp.auto_cast()(lambda: y @ y)().dtype == "float16"


def test_the_operands_of_in_place_operations_are_not_cast():
    x, out = torch.ones(2, 2), torch.zeros(2, 2)
    with torch.autocast("cpu"):
        assert out.addmm_(x, x) is out and out.dtype == torch.float32
        y = mt.ones([2, 2])
        assert y.exp_().dtype == "float32"


def test_autocast_ends_after_an_error_in_its_block():
    with pytest.raises(ValueError, match="stop"), torch.autocast("cpu"), amp.auto_cast():
        raise ValueError("stop")


def test_autocast_in_one_thread_does_not_affect_another():
    found = []
    with torch.autocast("cpu"):
        other = threading.Thread(target=lambda: found.append((torch.ones(2, 2) @ torch.ones(2, 2)).dtype))
        other.start()
        other.join()
    assert found == [torch.float32]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: amp.auto_cast(level="O3"), ValueError, "level must be 'O0' or 'O1', not 'O3'"),
        (lambda: amp.auto_cast(level="O2"), ValueError, "not part of minitensor"),
        (lambda: amp.auto_cast(dtype="float32"), ValueError, "'float16' or 'bfloat16', not 'float32'"),
        (lambda: amp.auto_cast(custom_white_list=["relu"]), ValueError, "'relu' is never cast"),
        (lambda: amp.auto_cast(True, ["exp"], ["exp"]), ValueError, "exp is in custom_white_list and in"),
        (lambda: torch.autocast("tpu"), RuntimeError, "Expected one of cpu, cuda"),
        (lambda: torch.autocast(), TypeError, "missing 1 required positional argument: 'device_type'"),
        (lambda: amp.GradScaler(incr_ratio=1.0), ValueError, "incr_ratio must be above 1"),
        (lambda: amp.GradScaler(decr_ratio=1.0), ValueError, "decr_ratio must be between 0 and 1"),
        (lambda: amp.GradScaler().scale(3), TypeError, "the loss must be a Tensor, not int"),
        (lambda: amp.auto_cast(level=2), TypeError, "auto_cast: level must be a str, not 2"),
        (lambda: amp.auto_cast(custom_white_list="exp"), TypeError, "custom_white_list must be a sequence of names"),
        (lambda: amp.auto_cast()(3), TypeError, "function must be a function, not 3"),
        (lambda: amp.auto_cast().__exit__(), RuntimeError, "the context was not entered"),
        (lambda: torch.autocast("cpu", enabled="yes"), TypeError, "enabled must be True or False, not 'yes'"),
        (lambda: amp.GradScaler(incr_every_n_steps=0.5), TypeError, "incr_every_n_steps must be an integer, not 0.5"),
        (lambda: amp.GradScaler().step(3), TypeError, "GradScaler.step: optimizer must be an optimizer"),
        (lambda: amp.GradScaler().load_state_dict({"a": 1}), ValueError, "state_dict has no 'scale'"),
        (lambda: torch.amp.GradScaler().unscale_("a"), TypeError, "optimizer must be an optimizer of torch.optim"),
        (lambda: torch.amp.GradScaler().scale([1]), ValueError, "got 1 inside 1 iterables"),
        (lambda: torch.amp.GradScaler().load_state_dict([1]), TypeError, "state_dict must be a dict"),
    ],
)
def test_wrong_settings_of_autocast_and_scalers_are_refused(call: Any, error: type[Exception], words: str):
    with pytest.raises(error, match=words):
        call()


def test_autocast_to_a_dtype_of_more_than_16_bits_warns_and_casts_nothing():
    x = torch.ones(2, 2)
    with pytest.warns(UserWarning, match="Disabling autocast"), torch.autocast("cpu", dtype=torch.float32):
        assert (x @ x).dtype == torch.float32 and not torch.is_autocast_enabled("cpu")


def test_autocast_for_one_device_is_not_enabled_for_another_device():
    with torch.autocast("cuda"):
        enabled = [name for name in ("cpu", "cuda", "xpu") if torch.is_autocast_enabled(name)]
    assert enabled == ["cuda"]


# ---------- copies in 16 bits ----------


def test_a_parameter_is_cast_once_and_again_after_a_write():
    recorded = PYTORCHS["a parameter is cast once"]["values"]
    names = answered("a parameter is cast once")
    assert recorded["same"] and names["a"]._node.inputs[1] is names["b"]._node.inputs[1]
    assert (recorded["after"], names["after"]) == (2.0, 6.0)  # PyTorch uses the copy made before the write
    for name in ("off", "back", "again", "gradient"):
        assert names[name] == recorded[name]


def test_a_nested_context_with_another_dtype_casts_a_separate_copy():
    # PyTorch raises an error, because the inner context uses the copy in the outer dtype that the outer context cached.
    assert "same dtype" in PYTORCHS["another dtype inside"]["error"]
    names = answered("another dtype inside")
    assert (names["first"], names["other"]) == ("torch.bfloat16", "torch.float16")


def test_a_product_saves_its_operands_in_16_bits():
    x, w = torch.ones(100, 100), torch.ones(100, 100, requires_grad=True)
    gc.collect()  # otherwise cycles of earlier tests may be freed while bytes are counted
    before = cpu_meter.allocated
    with torch.autocast("cpu"):
        y = x @ w
        z = x @ w
        # Five arrays of 16-bit numbers are allocated: two results, two copies of x, and one copy of w.
        assert cpu_meter.allocated - before == 5 * 20_000
        assert {entry[0].dtype.name for node in (y._node, z._node) for entry in node.saved[:2] if entry} == {"bfloat16"}
    (y.sum() + z.sum()).backward()
    assert w.grad.dtype == torch.float32 and w.grad[0, 0].item() == 200.0


def test_cached_casts_are_freed_when_the_outermost_context_ends():
    w = torch.ones(100, 100, requires_grad=True)
    x = torch.ones(1, 100)
    gc.collect()
    before = cpu_meter.allocated
    with torch.autocast("cpu"):
        with torch.autocast("cpu"):
            (x @ w).sum()
        assert cpu_meter.allocated - before == 20_000
    assert cpu_meter.allocated == before


def test_without_the_cache_a_parameter_is_cast_at_each_use():
    w, x = torch.ones(10, 10, requires_grad=True), torch.ones(1, 10)
    with torch.autocast("cpu", cache_enabled=False):
        a, b = x @ w, x @ w
    assert a._node.inputs[1] is not b._node.inputs[1]


def test_a_cast_made_under_no_grad_is_not_reused_in_grad_mode():
    w, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.no_grad():
            x @ w
        y = x @ w
    y.sum().backward()
    assert w.grad is not None


def test_a_parameter_with_new_memory_is_cast_again():
    w, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert (x @ w)[0, 0].item() == 2.0
        w.data = torch.full((2, 2), 5.0)
        assert (x @ w)[0, 0].item() == 10.0


# ---------- scalers ----------


def test_a_scaler_changes_the_scale_as_in_pytorch():
    assert answered("a scaler")["rows"] == PYTORCHS["a scaler"]["values"]["rows"]


def test_the_scaler_in_paddles_vocabulary_changes_its_scale_as_pytorchs_scaler_does():
    """Paddle's scaler does nothing on a CPU, so the numbers are compared with those of PyTorch's scaler, which has the
    same rule.
    """
    start = mt.nn.initializer.Assign([1.0, 2.0])
    w = mt.create_parameter([2], "float32", default_initializer=start)
    optimizer = mt.optimizer.SGD(0.125, parameters=[w])
    s, rows = amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2), []
    for factor in (1.0, 2.0, float("inf"), 1.0, 1.0, 1.0):
        optimizer.clear_grad()
        scaled = s.scale((w * factor).sum())
        scaled.backward()
        s.minimize(optimizer, scaled)
        rows.append([scaled.item(), w.tolist(), s.get_loss_scaling()])
    assert rows == PYTORCHS["a scaler"]["values"]["rows"]
    again = amp.GradScaler()
    again.load_state_dict(s.state_dict())
    assert again.state_dict() == s.state_dict()


@pytest.mark.parametrize("question", [each for each in PYTORCHS if each.startswith("a scaler: ")])
def test_methods_of_a_scaler_return_and_raise_as_in_pytorch(question: str):
    names, recorded = answered(question), PYTORCHS[question]
    assert names.get("error") == recorded.get("error")
    for expression, value in recorded["values"].items():
        found = eval(expression, names)
        assert found == value or found == pytest.approx(value), expression


def test_paddles_scaler_reduces_its_scale_after_several_steps_with_nan():
    w = mt.create_parameter([1], "float32")
    optimizer, s = mt.optimizer.SGD(0.1, parameters=[w]), amp.GradScaler(True, 8.0, decr_every_n_nan_or_inf=2)
    found = []
    for _ in range(4):
        optimizer.clear_grad()
        s.scale((w * float("nan")).sum()).backward()
        s.step(optimizer)
        s.update()
        found.append(s.get_loss_scaling())
    assert found == [8.0, 4.0, 4.0, 2.0]


def test_small_gradients_of_float16_do_not_round_to_0_with_a_scale():
    """Without a scale, the gradient is below the smallest positive float16. With a scale of 65,536, it is not."""
    x = torch.full((4, 4), 1e-5)
    for scale, lost in ((1.0, True), (2.0**16, False)):
        w = torch.ones(4, 4, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.float16):
            y = (x @ w).float()
        ((y * 1e-4).sum() * scale).backward()
        assert bool((w.grad == 0).all()) is lost
    assert np.allclose(w.grad.numpy() / scale, 4e-9, rtol=0.1)
