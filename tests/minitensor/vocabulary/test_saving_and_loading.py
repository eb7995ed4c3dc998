"""Test ``save`` and ``load``: restored values, damaged files, refused files, and that no code in a file runs."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import subprocess
import sys
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import minitensor as paddle
from minitensor import torch
from minitensor.engine.files import archive

BOTH = pytest.mark.parametrize("library", [torch, paddle], ids=["torch", "paddle"])


def through_a_file(library, value, **how):
    file = io.BytesIO()
    library.save(value, file)
    file.seek(0)
    return library.load(file, **how)


def tensor(library, numbers, dtype=None):
    make = library.tensor if library is torch else library.to_tensor
    return make(numbers) if dtype is None else make(numbers, dtype=dtype)


# ---------- restored values ----------


def plain_value(numbers: random.Random, depth: int = 0):
    """Return a random number, text, bytes or constant, or a container of such values."""
    leaves = [
        *(lambda: None, lambda: numbers.random() < 0.5, lambda: numbers.randint(-(10**20), 10**20)),
        *(lambda: numbers.gauss(0, 1e300), lambda: numbers.choice([float("inf"), -0.0, 5e-324])),
        *(lambda: "".join(chr(numbers.choice([65, 0, 92, 47, 0xE9, 0x1F40C])) for _ in range(3)),),
        *(lambda: complex(numbers.random(), -1.5), lambda: bytes([numbers.randrange(256)] * 2)),
    ]
    if depth > 3 or numbers.random() < 0.4:
        return numbers.choice(leaves)()
    inside = [plain_value(numbers, depth + 1) for _ in range(numbers.randrange(4))]
    keyed = [(numbers.choice(leaves)(), each) for each in inside]
    return numbers.choice([lambda: inside, lambda: tuple(inside), lambda: dict(keyed), lambda: OrderedDict(keyed)])()


@BOTH
def test_plain_values_are_restored(library):
    numbers = random.Random(0)
    for _ in range(300):
        value = plain_value(numbers) or [{}]  # as in Paddle, saving an empty dict itself causes a warning
        assert repr(through_a_file(library, value)) == repr(value)
    assert through_a_file(library, {1, 2}) == {1, 2} and through_a_file(library, frozenset("ab")) == frozenset("ab")


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_a_tensor_of_each_dtype_is_restored_bit_for_bit(library, dtype, shape):
    numbers = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    loaded = through_a_file(library, tensor(library, numbers))
    assert loaded.dtype == dtype and tuple(loaded.shape) == shape
    assert np.asarray(loaded.numpy()).tobytes() == numbers.tobytes()


@BOTH
def test_nan_infinity_and_negative_zero_are_restored(library):
    numbers = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], "float32")
    assert through_a_file(library, tensor(library, numbers)).numpy().tobytes() == numbers.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "complex64", "uint8", "int8", "bool", ">f8"])
def test_a_numpy_array_of_any_dtype_is_restored(dtype):
    array = np.arange(6).astype(dtype).reshape(2, 3).T
    loaded = through_a_file(torch, {"a": array, "n": array[0, 1]})
    assert loaded["a"].dtype == array.dtype and (loaded["a"] == array).all()
    assert type(loaded["n"]) is type(array[0, 1]) and loaded["n"] == array[0, 1]


def test_numpy_reads_the_file_of_a_network(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    torch.save({"net": net.state_dict(), "epoch": 3}, tmp_path / "net.pt")
    with np.load(tmp_path / "net.pt", allow_pickle=False) as file:
        assert (file["net/0.weight"] == net[0].weight.detach().numpy()).all()
        assert json.loads(file[archive.STRUCTURE])["version"] == 1


def test_unusual_keys_are_restored():
    state = {
        "a/b": 1.0,
        "a": {"b": 2.0},
        "..": 3.0,
        "\0": 4.0,
        "": 5.0,
        "\ud800": 6.0,
        "x" * 70_000: 7.0,
        1: 8.0,
        "1": 9.0,
    }
    tensors = {key: torch.tensor(value) if key != "a" else {"b": torch.tensor(2.0)} for key, value in state.items()}
    assert repr(through_a_file(torch, tensors)) == repr(tensors)


def test_saving_the_same_values_twice_writes_the_same_bytes():
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        torch.save({"w": torch.ones(3), "l": [1, 2.0]}, file)
    assert files[0].getvalue() == files[1].getvalue()


# ---------- sharing, leaves, devices ----------


def test_loaded_views_and_aliases_share_memory_in_pytorchs_vocabulary():
    x = torch.arange(12.0)
    saved = {"x": x, "rows": x.view(3, 4)[1:], "back": x[::3], "turned": x.view(3, 4).t(), "wide": x[:1].expand(4)}
    loaded = through_a_file(torch, saved)
    for name in saved:
        assert loaded[name].stride() == saved[name].stride()
        assert loaded[name].storage_offset() == saved[name].storage_offset()
    loaded["x"].mul_(10.0)
    assert all((loaded[name] == saved[name] * 10).all() for name in saved)
    assert len({loaded[name].untyped_storage() for name in saved}) == 1 and x[1] == 1.0


def test_loaded_tensors_share_no_memory_in_paddles_vocabulary():
    x = paddle.arange(4, dtype="float32")
    loaded = through_a_file(paddle, [x, x[1:], x])
    loaded[0][1] = 9.0
    assert [each.tolist() for each in loaded] == [[0.0, 9.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]]


def test_a_loaded_tensor_requires_a_gradient_only_in_pytorchs_vocabulary():
    w = torch.ones(2, requires_grad=True)
    (w * 3).sum().backward()
    loaded = through_a_file(torch, {"w": w, "y": w * 2, "p": torch.nn.Parameter(torch.ones(1))})
    assert loaded["w"].requires_grad and loaded["w"].grad is None and loaded["y"].is_leaf
    assert isinstance(loaded["p"], torch.nn.Parameter)
    assert through_a_file(paddle, paddle.to_tensor([1.0], stop_gradient=False)).stop_gradient


@pytest.mark.parametrize(
    "where",
    [
        None,
        "cpu",
        torch.device("cpu"),
        {"cuda:0": "cpu"},
        {},
        lambda storage, place: storage,
        lambda storage, place: None,
    ],
    ids=["None", "name", "device", "dict", "empty dict", "function", "function that returns None"],
)
def test_a_tensor_of_the_gpu_is_loaded_to_the_requested_device(where):
    x = torch.arange(4.0).cuda()
    loaded = through_a_file(torch, [x, x[1:]], map_location=where)
    stays = where is None or where == {} or (callable(where) and where(0, "cuda:0") is None)
    assert [each.is_cuda for each in loaded] == [stays, stays]
    loaded[0][1] = 7.0
    assert loaded[1][0] == 7.0


def test_a_tensor_of_the_host_is_loaded_to_the_gpu():
    for where in ("cuda", {"cpu": "cuda:0"}, lambda storage, place: storage.cuda()):
        assert through_a_file(torch, torch.ones(2), map_location=where).is_cuda
    with pytest.raises(RuntimeError, match=r"restore data location .*tagged with foo"):
        through_a_file(torch, torch.ones(2), map_location="foo")


# ---------- damaged files and interrupted saves ----------


@pytest.fixture(scope="module")
def written() -> bytes:
    file = io.BytesIO()
    x = torch.arange(6.0)
    torch.save({"x": x, "part": x[2:4], "epoch": 3, "b": torch.tensor([True, False])}, file)
    return file.getvalue()


def with_x(written: bytes, array: np.ndarray) -> bytes:
    """Return the bytes of a file with another array as its entry `x`."""
    changed, entry = io.BytesIO(), io.BytesIO()
    np.save(entry, array)
    with zipfile.ZipFile(io.BytesIO(written)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, entry.getvalue() if name == "x.npy" else old.read(name))
    return changed.getvalue()


def loaded_or_line(library, content: bytes, error: type) -> str:
    """Return the loaded values as text, or "" if the file is refused with a message of one line."""
    try:
        return repr(library.load(io.BytesIO(content)))
    except error as refused:
        assert "\n" not in str(refused) and 20 < len(str(refused)) < 400
        return ""


@pytest.mark.parametrize(("library", "error"), [(torch, RuntimeError), (paddle, ValueError)], ids=["torch", "paddle"])
def test_a_truncated_file_is_refused_with_a_message_of_one_line(written, library, error):
    assert {loaded_or_line(library, written[:end], error) for end in range(len(written))} == {""}


def test_a_file_with_a_damaged_byte_is_refused_or_loads_unchanged(written):
    whole = repr(torch.load(io.BytesIO(written)))
    numbers, harmless = random.Random(0), 0
    for place in range(len(written)):
        for value in (written[place] ^ 1 << numbers.randrange(8), 0, 255):
            damaged = written[:place] + bytes([value]) + written[place + 1 :]
            found = loaded_or_line(torch, damaged, RuntimeError)
            assert found in ("", whole), place
            harmless += found == whole and value != written[place]
    # Three values were tried at each position. Changes of dates, zip versions and other unused bytes are harmless.
    assert harmless < len(written)


def test_joined_files_are_refused(written):
    for joined in (written + written, written[:700] + written, b"\0" * 8 + written):
        assert loaded_or_line(torch, joined, RuntimeError) == ""


class Stopped(BaseException):
    pass


@pytest.mark.parametrize("step", ["write_array", "fsync", "replace"])
def test_an_interrupted_save_keeps_the_old_file_and_creates_no_other_file(tmp_path, monkeypatch, step):
    path = tmp_path / "net.pt"
    torch.save({"w": torch.ones(2), "v": torch.ones(2)}, path)
    home = archive.npy if step == "write_array" else os
    right, calls = getattr(home, step), []

    def stopped(*arguments, **named):
        calls.append(step)
        if len(calls) == (2 if step == "write_array" else 1):
            raise Stopped
        return right(*arguments, **named)

    monkeypatch.setattr(home, step, stopped)
    with pytest.raises(Stopped):
        torch.save({"w": torch.zeros(2), "v": torch.zeros(2)}, path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["net.pt"]
    assert torch.load(path)["w"].tolist() == [1.0, 1.0]


def test_a_save_in_a_killed_process_keeps_the_old_file(tmp_path):
    path = tmp_path / "net.pt"
    torch.save(torch.ones(2), path)
    program = (
        "import os, sys\nfrom minitensor import torch\nfrom minitensor.engine.files import archive\n"
        "archive.npy.write_array = lambda member, *_, **__: (member.write(b'part'), os._exit(9))\n"
        "torch.save(torch.zeros(2), sys.argv[1])"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode == 9
    assert torch.load(path).tolist() == [1.0, 1.0]


def test_a_value_that_cannot_be_saved_is_refused_before_any_write(tmp_path):
    path = tmp_path / "net.pt"
    torch.save(torch.ones(2), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match=r"the entry \['model'\]\[0\] is a Linear: .* Save its state_dict\(\)"):
        torch.save({"w": torch.zeros(2), "model": [torch.nn.Linear(1, 1)]}, path)
    assert path.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_saving_to_a_symbolic_link_writes_its_target_and_keeps_the_permissions(tmp_path):
    (tmp_path / "real.pt").write_bytes(b"")
    (tmp_path / "real.pt").chmod(0o640)
    (tmp_path / "link.pt").symlink_to(tmp_path / "real.pt")
    torch.save(torch.ones(1), tmp_path / "link.pt")
    assert (tmp_path / "link.pt").is_symlink() and torch.load(tmp_path / "real.pt").tolist() == [1.0]
    assert (tmp_path / "real.pt").stat().st_mode & 0o777 == 0o640


# ---------- refused files and values ----------


RAN: list[str] = []


class Bomb:
    def __reduce__(self):
        return RAN.append, ("ran",)


@pytest.mark.parametrize(("library", "error"), [(torch, RuntimeError), (paddle, ValueError)], ids=["torch", "paddle"])
def test_a_pickle_is_refused_without_running_its_code_and_the_error_names_a_remedy(tmp_path, library, error):
    (tmp_path / "old").write_bytes(pickle.dumps(Bomb()))
    with zipfile.ZipFile(tmp_path / "new", "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(Bomb()))
        file.writestr("archive/version", "3")
    for name in ("old", "new"):
        with pytest.raises(error, match=r"a pickle.*runs whatever code.*numpy.savez\(.*numpy.load") as refused:
            library.load(tmp_path / name)
        assert "\n" not in str(refused.value)
    assert RAN == []


def test_the_code_of_an_array_of_objects_in_a_file_does_not_run(written):
    changed = with_x(written, np.array([Bomb()], object))
    with pytest.raises(RuntimeError, match="damaged"):
        torch.load(io.BytesIO(changed))
    assert RAN == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shape", [9]),
        ("offset", 9),
        ("offset", -1),
        ("strides", [4]),
        ("array", "other"),
        ("shape", "x"),
        ("shape", [-1]),
    ],
)
def test_a_file_whose_tensor_reaches_outside_of_its_storage_is_refused(written, name, value):
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written)) as old, zipfile.ZipFile(changed, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            if member == archive.STRUCTURE:
                structure = json.loads(content)
                structure["tensors"][1][name] = value
                content = json.dumps(structure).encode()
            new.writestr(member, content)
    assert loaded_or_line(torch, changed.getvalue(), RuntimeError) == ""


def test_an_archive_that_declares_more_than_it_contains_allocates_no_memory(written):
    huge = io.BytesIO()
    np.lib.format.write_array_header_1_0(huge, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("x.npy", huge.getvalue())
        new.writestr(archive.STRUCTURE, "{}")
    assert loaded_or_line(torch, changed.getvalue(), RuntimeError) == ""


def test_the_error_for_a_numpy_file_names_numpys_function(tmp_path):
    np.savez(tmp_path / "arrays.npz", a=np.ones(2))
    with pytest.raises(RuntimeError, match=r"numpy.savez: read it with numpy.load"):
        torch.load(tmp_path / "arrays.npz")


@BOTH
def test_the_error_about_an_unsupported_value_names_its_position(library):
    cyclic: list = []
    cyclic.append({"again": cyclic})
    for value, words in (
        ({"f": [1, len]}, r"the entry \['f'\]\[1\] is a builtin_function_or_method"),
        (cyclic, r"the entry \[0\]\['again'\] contains itself"),
        (np.array([None]), "dtype object"),
        (np.zeros(1, "V2"), "dtype"),
        ({tensor(library, [1.0]): 1}, "a key .* is a tensor"),
    ):
        with pytest.raises(TypeError, match=words):
            library.save(value, io.BytesIO())
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(TypeError, match="too deep"):
        library.save(deep, io.BytesIO())


def test_a_dtype_that_tensors_do_not_support_is_refused(written):
    changed = with_x(written, np.arange(6, dtype="uint16"))
    with pytest.raises(RuntimeError, match="'x' has dtype uint16; a tensor holds bool, uint8"):
        torch.load(io.BytesIO(changed))


# ---------- state dicts ----------


def test_one_error_names_all_wrong_entries_of_a_state_and_a_module_loads_nothing():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 3))
    before = [each.clone() for each in net.parameters()]
    given = {"0.weight": torch.zeros(2, 2), "0.bias": torch.zeros(9), "1.weight": np.zeros((3, 2)), "z": torch.zeros(1)}
    with pytest.raises(RuntimeError) as refused:
        net.load_state_dict(given)
    assert all(name in str(refused.value) for name in ('"1.bias"', '"z"', "0.bias", '"1.weight"'))
    assert all((a == b).all() for a, b in zip(before, net.parameters(), strict=True))


def test_one_error_names_all_wrong_entries_of_a_state_and_a_layer_loads_nothing():
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.Linear(2, 3))
    before = [each.numpy() for each in net.parameters()]
    given = {
        "0.weight": paddle.zeros([2, 2]),
        "0.bias": paddle.zeros([9]),
        "1.weight": np.zeros((2, 3)),
        "z": paddle.zeros([1]),
    }
    with pytest.raises(ValueError, match="Nothing was loaded") as refused:
        net.set_state_dict(given)
    assert all(f"'{name}'" in str(refused.value) for name in ("0.bias", "1.weight", "1.bias", "z"))
    assert "'0.weight'" not in str(refused.value)
    assert all((a == b.numpy()).all() for a, b in zip(before, net.parameters(), strict=True))


TORCH_OPTIMIZERS = {
    "SGD": lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda w: torch.optim.Adam(w, lr=0.1, amsgrad=True),
    "AdamW": lambda w: torch.optim.AdamW(w, lr=0.1),
    "RMSprop": lambda w: torch.optim.RMSprop(w, lr=0.1, centered=True, momentum=0.5),
}
PADDLE_OPTIMIZERS = {
    "Momentum": lambda w, rate: paddle.optimizer.Momentum(rate, parameters=w),
    "Adam": lambda w, rate: paddle.optimizer.Adam(rate, parameters=w),
    "AdamW": lambda w, rate: paddle.optimizer.AdamW(rate, parameters=w),
    "RMSProp": lambda w, rate: paddle.optimizer.RMSProp(rate, momentum=0.5, centered=True, parameters=w),
}


@pytest.mark.parametrize("name", TORCH_OPTIMIZERS)
def test_training_continues_from_a_file_as_if_it_had_not_stopped(name, tmp_path):
    def begun():
        w = torch.tensor([1.0, -2.0], requires_grad=True)
        optimizer = TORCH_OPTIMIZERS[name]([w])
        return w, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2)

    def steps(w, optimizer, schedule):
        for _ in range(3):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
            schedule.step()

    first = begun()
    steps(*first)
    torch.save([first[0].detach(), *(each.state_dict() for each in first[1:])], tmp_path / "state")
    steps(*first)
    second = begun()
    numbers, *states = torch.load(tmp_path / "state")
    with torch.no_grad():
        second[0].copy_(numbers)
    for each, state in zip(second[1:], states, strict=True):
        each.load_state_dict(state)
    steps(*second)
    assert torch.equal(first[0], second[0]) and first[2].get_last_lr() == second[2].get_last_lr()


@pytest.mark.parametrize("name", PADDLE_OPTIMIZERS)
def test_paddles_training_continues_from_a_file_as_if_it_had_not_stopped(name, tmp_path):
    def begun():
        w = paddle.to_tensor([1.0, -2.0], stop_gradient=False)
        w.name = "w"
        return w, PADDLE_OPTIMIZERS[name]([w], paddle.optimizer.lr.StepDecay(0.1, 2))

    def steps(w, optimizer):
        for _ in range(3):
            (w * w).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
            optimizer._schedule.step()

    first = begun()
    steps(*first)
    paddle.save([first[0], first[1].state_dict()], tmp_path / "state")
    steps(*first)
    second = begun()
    numbers, state = paddle.load(tmp_path / "state")
    second[0].set_value(numbers)
    second[1].set_state_dict(state)
    steps(*second)
    assert first[0].tolist() == second[0].tolist() and first[1].get_lr() == second[1].get_lr()


def test_an_optimizer_loads_nothing_if_one_entry_of_a_state_does_not_fit():
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1)
    (w * w).sum().backward()
    optimizer.step()
    state, kept = optimizer.state_dict(), optimizer.state[w]
    bad = {"state": {0: {"exp_avg": torch.ones(9), "exp_avg_sq": torch.ones(8)}}, "param_groups": state["param_groups"]}
    with pytest.raises(ValueError, match=r"exp_avg of .*\[9\].*exp_avg_sq of .*\[8\].*Nothing was loaded"):
        optimizer.load_state_dict(bad)
    assert optimizer.state[w] is kept

    v = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    v.name = "v"
    adam = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.1, 2), parameters=[v])
    with pytest.raises(
        ValueError, match=r"'v_moment1_0' has shape \[9\].*'LR_Scheduler' is missing.*Nothing was loaded"
    ):
        adam.set_state_dict({"v_moment1_0": paddle.ones([9]), "v_moment2_0": paddle.ones([2])})
    with pytest.raises(ValueError, match="'v_moment2_0' is missing"):
        adam.set_state_dict({"v_moment1_0": paddle.ones([2]), "LR_Scheduler": {"last_epoch": 0, "last_lr": 0.1}})
    with pytest.warns(UserWarning, match="u_moment1_0.* belong to no parameter"):
        paddle.optimizer.Adam(0.1, parameters=[v]).set_state_dict({"u_moment1_0": paddle.ones([2])})
