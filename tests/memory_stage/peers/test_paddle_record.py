"""Test recordings of Paddle programs: names, storages, versions, saved tensors and backward, as for minitensor."""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memory_stage as stage
from memory_stage.engines.paddle import saved_table
from memory_stage.engines.paddle.engine import engine
from memory_stage.engines.protocol import NotRecordable
from tests.support.peers.paddle_recording import events, recorded
from tests.support.stage import stages

paddle = pytest.importorskip("paddle", reason="paddle is not installed here")

LEAF = "x = paddle.to_tensor([1., 2., 3., 4.], stop_gradient=False)\nb = x * 1\n"
IN_3 = paddle.__version__.startswith("3")


def sentences_of(source: str) -> list[str]:
    return stages.sentences_of(recorded(source))


def test_a_write_through_a_view_increments_the_version_of_the_storage():
    said = sentences_of("a = paddle.ones([4])\nv = a[1:3]\nv.scale_(10.)")
    assert said[1].startswith("`a[1:3]` makes a tensor on 2 of the 4 cells of storage 1")
    assert said[2] == "`scale_` writes 2 cells of storage 1 through `v`: version 1. `a` sees the new numbers, too."


def test_a_write_by_index_assignment_has_the_covered_cells():
    shown = recorded("a = paddle.zeros([2, 3])\na[1, ::2] = 5.\na[paddle.to_tensor([0])] = 1.")
    assert [event["cells"] for event in events(shown, "write")] == [
        {"3": "5", "5": "5"},
        {"0": "1", "1": "1", "2": "1"},
    ]


def test_saved_tensors_of_an_operation_are_shown_and_marked_as_inferred():
    shown = recorded(LEAF + "y = b * b")
    saves = events(shown, "save")
    assert saves and all(save["inferred"] and save["version"] == 0 for save in saves)
    assert "this is inferred, not observed" in sentences_of(LEAF + "y = b * b")[2]


def test_the_history_of_a_base_does_not_record_a_write_through_its_view():
    said = sentences_of(LEAF + "v = b[0:2]\nv.scale_(10.)\nb.sum().backward()")
    assert "the history of `b` will not record it" in said[2]
    assert said[3].endswith("`b` changes too, but its history does not record it.")
    assert said[-1].startswith("`backward` is done: `x.grad` is [1, 1, 1, 1]")  # wrong: it should be [10, 10, 1, 1]


def test_an_in_place_operation_that_needs_its_input_copies_the_input_first():
    shown = recorded(LEAF + "b.sin_()")
    copies = [save for save in events(shown, "save") if save.get("copy")]
    assert len(copies) == 1
    storage = next(event for event in events(shown, "storage") if event["id"] == copies[0]["storage"])
    assert storage["values"] == {"0": "1", "1": "2", "2": "3", "3": "4"} and storage["bytes"] == 16


def test_a_stale_tensor_is_predicted_by_the_write_and_found_by_backward():
    shown = recorded(LEAF + "y = b * b\nb.add_(x)\ny.sum().backward()")
    steps = shown.data["variants"][0]["steps"]
    assert "`multiply` (line 3) saved version 0, and those numbers are gone" in steps[3]["say"]
    assert steps[-1]["say"].startswith("`multiply` (line 3) needs `b` at version 0 but finds version 1")
    assert "modified by an inplace operation" in str(shown.error)


@pytest.mark.parametrize(
    ("write", "op"), [("b.set_value(paddle.zeros([4]))", "set_value"), ("b.copy_(paddle.zeros([4]), True)", "copy_")]
)
def test_a_sentence_says_that_backward_will_not_notice_an_unversioned_write(write, op):
    said = sentences_of(LEAF + f"y = b * b\n{write}\ny.sum().backward()")
    assert f"`{op}` writes all 4 cells of storage 2" in said[3]
    consequences = (
        "`backward` will silently use the new ones.",
        "`backward` through `multiply` (line 3) will not notice.",
    )
    assert "version unchanged" in said[3] and said[3].endswith(
        consequences
    )  # a long sentence ends with the second text
    assert said[-1].startswith("`backward` is done: `x.grad` is [0, 0, 0, 0]")  # wrong: it should be [2, 4, 6, 8]


def test_the_step_of_an_optimizer_increments_no_version():
    said = sentences_of(
        "w = paddle.create_parameter([2], 'float32', default_initializer=paddle.nn.initializer.Constant(3.))\n"
        "opt = paddle.optimizer.SGD(0.5, parameters=[w])\n"
        "y = (w * w).sum()\n"
        "y.backward(retain_graph=True)\n"
        "opt.step()\n"
        "y.backward()\n"
    )
    step = next(each for each in said if "sgd_" in each)
    assert "but the version stays 0" in step
    assert step.endswith("`multiply` (line 3) saved them: `backward` will silently use the new ones.")


def test_paddle_refuses_an_in_place_operation_on_a_leaf_only_after_the_write():
    shown = recorded("x = paddle.to_tensor([1., 2.], stop_gradient=False)\nx.scale_(2.)")
    steps = shown.data["variants"][0]["steps"]
    assert steps[-1]["say"].endswith(
        "while gradients are recorded. Even so, it has overwritten all 2 cells of storage 1."
    )
    assert isinstance(shown.error, ValueError)


def test_the_recorded_bytes_equal_paddles_counter():
    shown = recorded("a = paddle.ones([256])\nb = a * 2\nc = b[0:8]\ndel a\ndel b\ndel c")
    assert [step["allocated"] for step in shown.data["variants"][0]["steps"]] == [1024, 2048, 2048, 1024, 1024, 0]


def test_backward_has_a_step_for_each_node():
    shown = recorded(LEAF + "c = b.sin()\ny = c.sum()\ny.backward()")
    ran = [event["node"] for event in events(shown, "run")]
    ops = {event["id"]: event["op"] for event in events(shown, "node")}
    assert [ops[each] for each in ran] == ["sum", "sin", "multiply"]


def test_a_gradient_that_two_backward_passes_accumulate_is_named_once():
    again = "(x * 3).sum().backward()\n"
    shown = recorded("x = paddle.ones([2])\nx.stop_gradient = False\n" + again * 2)
    names = [event for event in events(shown, "name") if event["name"] == "x.grad"]
    assert len(names) == 1


def test_an_operation_outside_of_the_table_is_shown_as_unknown(monkeypatch):
    monkeypatch.setattr(saved_table, "saves", lambda *call: None)
    shown = recorded(LEAF + "y = b.sin()")
    assert "It is not known which tensors `sin` saves for backward, so none is shown." in stages.sentences_of(shown)[2]
    assert [event["op"] for event in events(shown, "node") if event.get("unknown")] == ["multiply", "sin"]


def test_the_gradients_that_a_node_without_a_living_tensor_sends_are_observed_only_in_paddle_3():
    said = sentences_of(LEAF + "y = (b * b).sum()\ny.backward()")
    if IN_3:
        assert any(each.startswith("`multiply` (line 3)") and "sends" in each for each in said)
    else:
        assert "`sum` (line 3) receives 1; the gradients that it sends are not observed." in said


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("s = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1., 2.], [2, 2])", "A sparse tensor has no cells"),
        (
            "t = threading.Thread(target=lambda: paddle.ones([2]))\nt.start()\nt.join()\ny = b * 2",
            "Another thread calls Paddle, too",
        ),
    ],
)
def test_a_sentence_names_code_that_cannot_be_recorded_and_the_program_continues(line, named):
    shown = recorded("import threading\n" + LEAF + line + "\nz = b * 5")
    assert any(named in each for each in stages.sentences_of(shown))
    assert any("the tensor `z`" in each for each in stages.sentences_of(shown))


def test_a_static_function_ends_the_recording_but_not_the_program():
    names = {"paddle": paddle}
    source = "@paddle.jit.to_static\ndef f(a):\n    return a * 2\ny = f(b)\n"
    shown = stage.record(LEAF + source, names)
    assert shown.error is None and names["y"].tolist() == [2, 4, 6, 8]
    assert "a function is made static" in shown.data["variants"][0]["truncated"]


def test_paddle_translates_a_function_of_an_earlier_cell_that_calls_a_recorded_function():
    earlier = (
        "def double(a):\n    b = a * 2\n    return b\n"
        "@paddle.jit.to_static(full_graph=True)\ndef g(a):\n    b = double(a)\n    return b + 1\n"
    )
    names = {"paddle": paddle}
    linecache.cache["<earlier>"] = (len(earlier), None, earlier.splitlines(True), "<earlier>")
    exec(compile(earlier, "<earlier>", "exec"), names)
    shown = stage.record("x = double(paddle.ones([2]))\ny = g(x)", names)
    assert shown.error is None and names["y"].tolist() == [5, 5]
    assert "calls `double`" in stages.sentences_of(shown)[0]


def test_a_cell_of_a_notebook_is_recorded():
    ipython = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed here")
    ipython.InteractiveShell.clear_instance()
    shell = ipython.InteractiveShell.instance()
    shell.run_line_magic("load_ext", "book_kit")
    shell.push({"paddle": paddle})
    from IPython.utils.capture import capture_output

    with capture_output() as shown:
        shell.run_cell("%%stage\n" + LEAF + "b.scale_(2.)")
    assert "writes all 4 cells of storage 2" in shown.outputs[0].data["text/html"]


def test_a_program_is_run_from_the_command_line(tmp_path: Path):
    (tmp_path / "program.py").write_text("import paddle\n" + LEAF + "b.scale_(2.)\nprint('done')\n")
    command = [sys.executable, "-m", "memory_stage", "--output", "out.html", "program.py"]
    paths = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "writes all 4 cells of storage 2" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_explain_names_both_writes_even_the_write_that_paddle_does_not_version(tmp_path: Path):
    source = "import paddle\n" + LEAF + "y = b * b\nb.set_value(paddle.zeros([4]))\nb.scale_(10.)\ny.sum().backward()\n"
    (tmp_path / "program.py").write_text(source)
    command = [sys.executable, "-m", "memory_stage", "--explain", "program.py"]
    paths = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True)
    reported = " ".join(done.stderr.split())
    assert "line 5: b.set_value(paddle.zeros([4]))" in reported and "its gradients will be wrong" in reported
    assert "line 6: b.scale_(10.)" in reported and "A backward pass through it raises an error" in reported


def test_the_trace_of_a_paddle_program_can_be_written_as_json():
    json.dumps(recorded(LEAF + "y = b * b").data)


def test_the_recording_can_be_saved_to_a_file(tmp_path: Path):
    recorded(LEAF).save(tmp_path / "stage.html")
    assert "multiply" in (tmp_path / "stage.html").read_text(encoding="utf-8")


ON_ANOTHER_THREAD = """\
y = paddle.exp(b)
def work():
    with paddle.no_grad():
        y.scale_(2.)
t = threading.Thread(target=work)
t.start()
t.join()
y.sum().backward()
"""


def test_a_write_by_another_thread_overwrites_a_saved_tensor():
    shown = recorded("import threading\n" + LEAF + ON_ANOTHER_THREAD)
    assert isinstance(shown.error, RuntimeError)
    (written,) = [each for each in stages.sentences_of(shown) if "An update writes" in each]
    assert written.endswith("`backward` through `exp` (line 4) will be refused.")
    assert not any("No byte" in each or "None of its bytes" in each for each in stages.sentences_of(shown))


def test_a_change_of_the_shape_in_place_is_not_said_to_overwrite_numbers():
    shown = recorded(LEAF + "y = paddle.exp(b)\ny.reshape_([4, 1])\ny.sum().backward()")
    assert not any("those numbers are gone" in each for each in stages.sentences_of(shown))


def test_an_empty_tensor_is_recorded_after_flatten_in_place():
    shown = recorded("x = paddle.zeros([1, 6])[1:]\nx.flatten_()\nx.tanh_()\n")  # 2.6.2 keeps the two strides of x
    assert shown.data["variants"][0]["truncated"] is None


needs_dlpack = pytest.mark.skipif(not hasattr(paddle.Tensor, "__dlpack__"), reason="this Paddle has no __dlpack__")


@needs_dlpack
def test_an_array_from_dlpack_shares_the_memory_of_its_tensor():
    lines = "h = b.detach()\na = numpy.from_dlpack(h)\ny = (x * h).sum()\na[0] = 9\ny.backward()\ndel h, b\na[1] = 3\n"
    said = stages.sentences_of(recorded("import numpy\n" + LEAF + lines))
    assert any("`a` names a numpy array on storage" in each and "no number is copied" in each for each in said)
    (written,) = [each for each in said if each.startswith("Line 7 writes 1 cell")]
    assert "from outside" in written and "`backward` will silently use the new one" in written


@needs_dlpack
def test_a_tensor_from_dlpack_borrows_the_memory_of_an_array():
    program = "import numpy\nn = numpy.ones(3, 'float32')\nh = paddle.from_dlpack(n)\nn[0] = 5\nh.scale_(2.)\ndel h\n"
    shown = recorded(program)
    made, written, scaled = [step["say"] for step in shown.data["variants"][0]["steps"]][1:4]
    assert "is borrowed memory: 12 bytes" in made
    assert (
        written == "Line 4 writes 1 cell of storage 1 from outside, but the version stays 0. `h` sees the new number."
    )
    assert "`n` sees the new numbers, too" in scaled
    assert {step["allocated"] for step in shown.data["variants"][0]["steps"]} == {0}


@pytest.mark.parametrize(("version", "is_recorded"), [("2.5.2", False), ("2.6.2", True), ("2.10.0", True)])
def test_paddle_is_recorded_from_version_2_6_on(version, is_recorded, monkeypatch):
    monkeypatch.setattr(paddle, "__version__", version)
    if is_recorded:
        assert engine().paddle is paddle
        return
    with pytest.raises(NotRecordable, match=r"Tensors of Paddle 2\.5\.2 are not recorded\."):
        engine()


def test_a_graph_that_was_freed_is_the_reason_of_the_error_of_a_second_backward():
    shown = stage.record(f"import paddle\n{LEAF}c = b.exp()\n" + 2 * "c.sum().backward()\n")
    said = shown.data["variants"][0]["steps"][-1]["say"]
    assert said == "An earlier backward freed tensors that this one needs, so it raises."
