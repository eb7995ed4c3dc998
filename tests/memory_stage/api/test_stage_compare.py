"""Test several variants in one stage: `stage.compare`, `%%stage --compare`, and their verdicts."""

from __future__ import annotations

import json
import re

import pytest

import minitensor as mt
from memory_stage import api as stage
from memory_stage.explanation.minitensor import Verdict
from memory_stage.recorder import record
from memory_stage.trace.validation import problems
from minitensor.engine.events import watch
from tests.support.stage.programs import PROGRAMS


def labels(shown) -> list[str]:
    return [variant["label"] for variant in shown.data["variants"]]


def verdicts(shown) -> list[str | None]:
    return [variant["verdict"] for variant in shown.data["variants"]]


# ---------- programs as text ----------


def test_each_variant_is_a_separate_program_and_gets_a_verdict():
    shown = stage.compare(
        {
            "normal": """
                x = mt.ones([2])
                y = x + 1
                """,
            "view": "x = mt.ones([2])\ny = x.reshape([2, 1])",
            "in place": "x = mt.ones([2])\ny = x.add_(1)",
            "wrong": "x = mt.ones([2])\ny = x.reshape([3])",
        },
        heading="kind of operation",
        verdicts={"wrong": "no such shape"},
    )
    assert verdicts(shown) == ["shares nothing", "shares the storage", "shares the tensor", "no such shape"]
    assert [variant["code"][0] for variant in shown.data["variants"]] == ["x = mt.ones([2])"] * 4
    assert shown.data["compare"] == "kind of operation"
    assert list(problems(shown.data)) == []


def test_one_program_gets_a_variant_and_a_verdict_for_each_policy():
    source = "x = mt.ones([2])\nx.stop_gradient = False\ny = x * 2\ny.sin_()"
    shown = stage.compare(source, policies=["2.5", "2.6"])
    old, new = shown.data["variants"]
    assert labels(shown) == ["2.5", "2.6"]
    assert verdicts(shown) == ["refused", "copies 8 bytes"]
    assert new["steps"][-1]["allocated"] == old["steps"][-1]["allocated"] + 8  # the bytes of the copy of the input
    assert mt.get_inplace_policy() == "2.6"


def test_each_variant_begins_with_the_random_state_and_policy_of_the_caller():
    mt.seed(3)
    expected = mt.rand([2]).tolist()
    mt.seed(3)
    program = "x = mt.rand([2])\nprint(x.tolist(), mt.get_inplace_policy())\nmt.set_inplace_policy('2.5')\nmt.seed(9)"
    shown = stage.compare({"a": program, "b": program})
    printed = [[step["out"] for step in v["steps"] if "out" in step] for v in shown.data["variants"]]
    assert printed == [[f"{expected} 2.6\n"]] * 2
    assert mt.get_inplace_policy() == "2.6" and mt.rand([2]).tolist() == expected


@pytest.mark.parametrize(
    "programs, named, text",
    [
        ({"a": "x = 1"}, {"verdicts": {"b": "right"}}, "'b'"),
        ({"a": "x = 1"}, {"policies": {"b": "2.5"}}, "'b'"),
        ({"a": "x = 1"}, {"policies": {"a": "2.7"}}, "a policy must be one of .*, not '2.7'"),
        ({"a": "x = 1"}, {"steps": 0}, "steps must be the number of steps"),
        ({}, {}, "at least one program"),
        ({7: "x = 1"}, {}, "a label must be a str that is not blank, not 7"),
        ({" ": "x = 1"}, {}, "a label must be a str that is not blank, not ' '"),
        ("x = 1", {}, "policies"),
        ("x = 1", {"policies": ["2.5", "2.5"]}, "each policy once"),
    ],
)
def test_unsuitable_arguments_of_compare_are_refused(programs, named, text):
    with pytest.raises(ValueError, match=text):
        stage.compare(programs, **named)


def test_compare_refuses_a_function_in_place_of_the_text_of_a_program():
    with pytest.raises(TypeError, match="given as a str, not as a function"):
        stage.compare({"a": lambda: None})


def test_a_program_with_a_syntax_error_is_found_before_any_program_runs(capsys):
    with pytest.raises(SyntaxError, match="in the variant 'b'"):
        stage.compare({"a": "print('ran')", "b": "x = = 1"})
    assert capsys.readouterr().out == ""


# ---------- verdicts ----------

START = "x = mt.to_tensor([.1, .2], stop_gradient=False) * 1\n"

# A program, and the verdict on it in the words of `explain`. A float32 takes 4 bytes. A mask takes one bit per element,
# rounded up to a byte.
VERDICTS = {
    "add_": ("x.add_(1)\nx.sum().backward()", "free"),
    "sin_": ("x.sin_()\nx.sum().backward()", "copies 8 bytes"),
    "sin_ and cos_": ("x.sin_()\nx.cos_()", "copies 16 bytes"),
    # abs_ saves two masks: the elements above 0, and those below 0.
    "abs_": ("x.abs_()", "marks 2 bytes"),
    "stale": ("y = x * x\nx.add_(1)", "stale"),
    "stale, then backward": ("y = x * x\nx.add_(1)\ny.sum().backward()", "stale, backward raises"),
    "stale, then a caught error of backward": (
        "y = x * x\nx.add_(1)\ntry:\n    y.sum().backward()\nexcept RuntimeError:\n    pass",
        "stale, backward raises",
    ),
    "preserved": ("y = x * x\nmt.set_inplace_policy('copy_on_write')\nx.add_(1)", "preserves 8 bytes"),
    "refused": ("x.add_(mt.ones([2, 2]))", "refused"),
    "a write to a leaf": ("w = mt.to_tensor([1.], stop_gradient=False)\nw.add_(1)", "refused"),
    "an error of the program": ("x.add_(1)\n1 / 0", "raises"),
    "a write to a detached alias": ("x.detach().add_(1)", "unrecorded"),
    "reshape_": ("y = x.reshape_([2, 1])", "shares the tensor"),
    "no gradient": ("z = mt.ones([2])\nz.add_(1)", "free"),
    "no gradient, two names of a tensor": ("z = mt.ones([2])\ny = z.add_(1)", "shares the tensor"),
    "under no_grad": ("with mt.no_grad():\n    y = x * 1\n    y.sin_()", "free"),
    "no in-place operation": ("y = x.exp()", "shares nothing"),
    "backward without a write": ("y = x.exp()\ny.retain_grads()\ny.sum().backward()", None),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_program_gets_the_expected_verdict(name):
    program, verdict = VERDICTS[name]
    shown = stage.compare({"it": START + program})
    assert verdicts(shown) == [verdict]


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_has_the_word_and_the_bytes_of_the_report_of_explain(name):
    program, verdict = VERDICTS[name]
    with mt.set_inplace_policy("2.6"):  # a program may set another policy
        report = mt.explain(exec, START + program, {"mt": mt}, catch=True)
    words = {each.word for row in report.rows for each in row.verdicts}
    if verdict and not verdict.startswith("shares"):
        assert verdict.split(",")[0].split()[0] in words
        kept = report.totals.copied + report.totals.marked + report.totals.preserved
        assert kept == sum(int(word) for word in verdict.split() if word.isdigit())
    else:
        assert words <= {Verdict.METADATA.word, Verdict.FREE.word, Verdict.UNRECORDED.word}


def test_the_listener_that_finds_the_verdict_is_removed_at_the_end_of_the_recording():
    source = "x = mt.zeros([2])\nfor i in range(30):\n    x.add_(1)\nwho = watch.listener"
    names, before = {"mt": mt, "watch": watch}, watch.listener
    stage.record(source, names, steps=5)
    assert names["who"] == before and names["x"].tolist() == [30.0, 30.0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_listener_that_finds_the_verdict_does_not_change_the_recording(name):
    def recorded_by(run):
        mt.seed(7)
        done = run(PROGRAMS[name], {"mt": mt, "__name__": "__main__"}, file="<the program>")
        plain = json.dumps([{**done.variant, "verdict": ""}, repr(done.error)])
        return re.sub(r"generated_tensor_\d+", "generated", plain)  # a number that grows from run to run

    assert recorded_by(stage.run) == recorded_by(record.run)


def test_an_error_after_the_last_recorded_step_is_in_the_verdict():
    source = "x = mt.zeros([2])\nfor i in range(30):\n    x.add_(1)\n1 / 0"
    assert verdicts(stage.compare({"a": source}, steps=5)) == ["raises"]


# ---------- the magic ----------

CELL = """%%stage --compare --title "Add one" --heading "kind of operation" --ignore tmp
x = mt.ones([3])
tmp = x + 5

# --- normal
y = x + 1

# --- in place
y = x.add_(1)
"""


def test_a_cell_may_contain_variants(cell, shell):
    result, shown, _ = cell(CELL)
    assert result.success
    assert labels(shown) == ["normal", "in place"]
    assert (shown.data["title"], shown.data["compare"]) == ("Add one", "kind of operation")
    codes = [variant["code"] for variant in shown.data["variants"]]
    assert codes == [["x = mt.ones([3])", "tmp = x + 5", line] for line in ("y = x + 1", "y = x.add_(1)")]
    assert verdicts(shown) == ["shares nothing", "shares the tensor"]
    assert list(problems(shown.data)) == []


def test_a_cell_is_run_under_each_policy(cell):
    program = "x = mt.to_tensor([1., 2.], stop_gradient=False) * 1\nx.sin_()"
    result, shown, _ = cell(f"%%stage --compare --policies 2.5 2.6 copy_on_write\n{program}")
    assert result.success
    assert labels(shown) == ["2.5", "2.6", "copy_on_write"]
    assert verdicts(shown) == ["refused", "copies 8 bytes", "copies 8 bytes"]
    assert shown.data["compare"] == "in-place policy"


def test_variants_read_the_names_of_the_notebook_without_changing_them(cell, shell):
    cell("k = 3\ndef grow(a):\n    b = a + k\n    return b\n")
    before = dict(shell.user_ns)
    result, shown, _ = cell(
        "%%stage --compare\nx = mt.ones([2])\n# --- a\ny = grow(x)\nk = 9\ndel grow\n# --- b\ny = grow(x)\nnew = 1"
    )
    assert result.success
    assert all(any("`b in grow`" in step["say"] for step in v["steps"]) for v in shown.data["variants"])
    assert {name for name in shell.user_ns if name not in before and not name.startswith("_")} == set()
    assert shell.user_ns["k"] == 3 and shell.user_ns["grow"] is before["grow"]


@pytest.mark.parametrize(
    "setup, use, name",
    [
        ("w = mt.ones([2])", "w.add_(1)", "w"),
        ("data = {'a': [mt.ones([2])]}", "data['a'][0].add_(1)", "data"),
        ("net = mt.nn.Sequential(mt.nn.Linear(2, 2))", "net(mt.ones([1, 2]))", "net"),
        (
            "class Model:\n    def __init__(self):\n        self.net = mt.nn.Sequential(mt.nn.Linear(2, 2))\n"
            "model = Model()",
            "model.net(mt.ones([1, 2]))",
            "model",
        ),
        ("w = mt.ones([2])\ndef step():\n    w.add_(1)", "step()", "w"),
    ],
)
def test_a_variant_that_reads_a_tensor_of_the_notebook_is_refused(cell, shell, setup, use, name):
    assert cell(setup)[0].success
    before = shell.user_ns[name]
    result, shown, _ = cell(f"%%stage --compare\n# --- one\n{use}\n# --- two\nx = 1")
    error = result.error_in_exec
    assert type(error).__name__ == "UsageError" and shown is None
    assert f"the variant 'one' reads `{name}`" in str(error) and "# --- label" in str(error)
    assert shell.user_ns[name] is before
    if name == "w":
        assert before.tolist() == [1.0, 1.0] and before.inplace_version == 0


def test_objects_that_refer_to_each_other_are_searched_once(cell):
    cell("class Knot:\n    pass\nknots = [Knot() for _ in range(40)]\nfor knot in knots:\n    knot.all = knots")
    result, shown, _ = cell("%%stage --compare\n# --- a\nx = len(knots)\n# --- b\nx = len(knots) + 1")
    assert result.success and verdicts(shown) == [None, None]


def test_a_variant_may_bind_a_name_of_the_notebook_to_another_tensor(cell, shell):
    cell("w = mt.ones([2])")
    result, shown, _ = cell("%%stage --compare\nw = mt.zeros([3])\n# --- a\nw.add_(1)\n# --- b\nw = w + 1")
    assert result.success and shell.user_ns["w"].tolist() == [1.0, 1.0]
    assert all("before" not in variant for variant in shown.data["variants"])


def test_an_error_of_a_variant_is_shown_and_the_next_variant_runs(cell):
    result, shown, _ = cell("%%stage --compare\n# --- a\nx = nothing\n# --- b\nx = mt.ones([2])")
    assert result.success and verdicts(shown) == ["raises", "shares nothing"]
    assert shown.data["variants"][0]["steps"][-1]["events"][-1]["do"] == "raise"


def test_an_interrupt_ends_the_comparison(cell):
    result, shown, _ = cell("%%stage --compare\n# --- a\nraise KeyboardInterrupt\n# --- b\nx = 1")
    assert isinstance(result.error_in_exec, KeyboardInterrupt) and shown is None


@pytest.mark.parametrize(
    "text, reported",
    [
        ("--compare\nx = 1", "one program and nothing to compare it with"),
        ("--compare\n# --- a\nx = 1", "one variant, 'a'"),
        ("--compare\n# --- a\nx = 1\n# ---\ny = 1", "line 3 begins a variant without a label"),
        ("--compare\n# --- a\nx = 1\n# --- a\ny = 1", "line 3 begins another variant 'a'"),
        ("--compare\n# --- a\n# --- b\ny = 1", "'a' has no code"),
        ("--compare\n# --- a\nx = 1\n# --- b\n# only a remark", "'b' has no code"),
        ("--compare\n# --- a\nx = 1\n# --- b\n%%time\ny = 1", "begins with a cell magic"),
        ("--compare --policies 2.5\nx = 1", "two policies or more"),
        ("--compare --policies 2.5 2.5\nx = 1", "two policies or more, each once"),
        ("--compare --policies 2.5 2.7\nx = 1", "'2.7'"),
        ("--compare --policies 2.5 2.6\n# --- a\nx = 1", "takes no line `# --- a`"),
        ("--policies 2.5 2.6\nx = 1", "needs --compare"),
        ("--heading kind\nx = 1", "needs --compare"),
    ],
)
def test_an_invalid_comparison_runs_nothing_and_explains_why(cell, shell, text, reported):
    result, shown, _ = cell(f"%%stage {text}")
    assert type(result.error_in_exec).__name__ == "UsageError" and shown is None
    assert reported in str(result.error_in_exec)
    assert "x" not in shell.user_ns


def test_a_syntax_error_names_its_variant_and_nothing_runs(cell):
    result, shown, out = cell("%%stage --compare\n# --- a\nprint('ran')\n# --- b\nx = = 1")
    assert isinstance(result.error_in_exec, SyntaxError) and "in the variant 'b'" in result.error_in_exec.msg
    assert "ran\n" not in out and shown is None


def test_a_line_of_dashes_or_a_comment_begins_no_variant(cell):
    result, shown, _ = cell(
        "%%stage --compare\n# --- a\n# -------------\nx = 1  # --- b\n    \n# --- b -- c\nx = 2\n#--- d\n"
    )
    assert result.success and labels(shown) == ["a", "b -- c"]


def history(variant: dict) -> list[tuple]:
    """Return the history events of a variant (operations, saves, gradients, drops and groups), with labels in place of
    ids.
    """
    events = [*variant.get("before", []), *(event for step in variant["steps"] for event in step["events"])]
    label = {event["id"]: event["label"] for event in events if event["do"] == "state"}
    op = {event["id"]: event["op"] for event in events if event["do"] == "node"}
    found: list[tuple] = []
    for event in events:
        if event["do"] == "node":
            found.append((event["op"], [label[each] for each in event["ins"]], label[event["out"]]))
        elif event["do"] == "save":
            found.append(("save", op[event["node"]], event["what"], event["state"] and label[event["state"]]))
        elif event["do"] == "grad":
            found.append(("grad", label[event["state"]], event["text"]))
        elif event["do"] == "drop":
            found.append(("drop", [op[each] for each in event["nodes"]], [label[each] for each in event["states"]]))
        elif event["do"] == "group":
            found.append(("group", [label[each] for each in event["states"]]))
    return found


def test_the_history_of_a_variant_equals_that_of_the_program_recorded_alone():
    """The picture has one position for an id in all variants, so two things with the same id would be drawn as one."""
    programs = dict(list(PROGRAMS.items())[:40])
    alone = {name: stage.record(source).data["variants"][0] for name, source in programs.items()}
    shown = stage.compare(programs).data
    assert list(problems(shown)) == []
    places: dict[str, object] = {}
    for variant in shown["variants"]:
        assert history(variant) == history(alone[variant["label"]]), variant["label"]
        for event in (event for step in variant["steps"] for event in step["events"]):
            if event["do"] == "state":
                assert places.setdefault(event["id"], event["label"]) == event["label"]
            elif event["do"] == "node":
                what = [event["op"], event["ins"], event["out"]]
                assert places.setdefault(event["id"], what) == what


def test_a_program_has_equal_steps_under_two_policies_that_treat_it_alike():
    program = "w = mt.ones([2], stop_gradient=False)\nh = w * 2.0\ny = h * h\nh.add_(1.0)"
    first, second = stage.compare(program, policies=["2.5", "2.6"]).data["variants"]
    assert first["steps"] == second["steps"]
