"""Test the answers to the requests of a page. Every request runs as if Python had just been started."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import minitensor as mt
from book_kit.in_page import page_kernel, reset_state
from memory_stage.api import DEPTHS
from memory_stage.trace.validation import validate


def recorded(*codes: str, device: str = "cpu", policy: str = "2.6") -> dict:
    variants = [
        {"id": f"v{n}", "label": f"program {n}", "code": code, "policy": policy} for n, code in enumerate(codes, 1)
    ]
    request = {"do": "record", "variants": variants, "device": device, "title": "t", "ask": None, "heading": "program"}
    return json.loads(page_kernel.answer(json.dumps(request)))


@pytest.mark.parametrize("depth", [None, *DEPTHS])
def test_a_recording_has_the_depth_of_its_stage(depth):
    code = "x = mt.ones([2])\nx.add_(1.0)"
    variant = {"id": "v1", "label": "", "code": code, "policy": "2.6"}
    request = {"do": "record", "variants": [variant], "device": "cpu", "title": "t", "ask": None, "heading": ""}
    trace = json.loads(page_kernel.answer(json.dumps(request | ({"depth": depth} if depth else {}))))["trace"]
    assert trace.get("depth") == depth
    assert ("version" in trace["variants"][0]["steps"][1]["say"]) == (depth != "memory")


def errors(trace: dict) -> list[str]:
    steps = [step for variant in trace["variants"] for step in variant["steps"]]
    return [event["text"] for step in steps for event in step["events"] if event["do"] == "raise"]


@pytest.mark.parametrize("device", reset_state.DEVICES)
@pytest.mark.parametrize(
    "code",
    ["x = mt.ones([2])\nx.add_(1.0)", "1/0", "y = (x", "", "\0", "x = torch.ones(2)", "raise SystemExit(3)"]
    + [
        pytest.param("x = " + "(" * 300 + "1" + ")" * 300, id="too many brackets"),
        pytest.param("x = " + "-" * 100_000 + "1", id="too many signs"),
        "import sys\nsys.stdout.close()\nx = mt.ones([2])",
    ]
    + ["def f(x):\n    return f(x)\nf(1)"],
)
def test_every_request_is_answered_with_a_recording(code, device):
    trace = recorded(code, device=device)["trace"]
    validate(trace)
    assert trace["variants"][0]["steps"] or not code


def test_every_request_starts_in_the_same_state():
    first = recorded("x = mt.rand([3])\nmt.set_device('gpu')\nmt.set_grad_enabled(False)")
    assert recorded("x = mt.rand([3])\nmt.set_device('gpu')\nmt.set_grad_enabled(False)") == first
    assert mt.is_grad_enabled() and mt.get_device() == "cpu"
    assert not errors(recorded("x = mt.to_tensor([1.0], stop_gradient=False)\n(x * 1.0).sin_()")["trace"])
    assert (
        len(errors(recorded("x = mt.to_tensor([1.0], stop_gradient=False)\n(x * 1.0).sin_()", policy="2.5")["trace"]))
        == 1
    )


def test_a_recording_that_is_too_large_is_refused_with_a_message(monkeypatch):
    monkeypatch.setattr(page_kernel, "MOST_SHOWN", 100)
    assert "too large to show" in recorded("x = mt.ones([2])")["failed"]


def test_a_request_with_an_unknown_action_or_device_is_refused():
    with pytest.raises(ValueError, match="do must be one of record, explain, check, not 'delete'"):
        page_kernel.answer('{"do": "delete"}')
    with pytest.raises(ValueError, match=r"device must be one of cpu, .*, not 'tpu'"):
        recorded("x = 1", device="tpu")


def test_a_stand_in_for_a_framework_is_not_recorded_as_the_framework():
    program = (
        "from book_kit.in_page import page_kernel as in_page; in_page.stand_in()\n"
        "import json, torch, paddle, torch.nn.functional as F\n"
        "assert torch.__name__ == 'minitensor.torch' and paddle.__name__ == 'minitensor' and F.relu_\n"
        "one = {'id': 'a', 'label': '', 'code': 'import torch\\nx = torch.ones(2)\\nx.add_(1)', 'policy': '2.6'}\n"
        "asked = {'do': 'record', 'variants': [one], 'device': 'cpu', 'title': 't', 'ask': None, 'heading': 'h'}\n"
        "(variant,) = json.loads(in_page.answer(json.dumps(asked)))['trace']['variants']\n"
        "assert 'add_` writes all 2 cells' in variant['steps'][-1]['say'], variant\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "code, reported",
    [
        ("x = 1\ny = (x", "SyntaxError: '(' was never closed (line 2)"),
        ("\0", "source code string cannot contain null bytes"),
        pytest.param("x = " + "-" * 100_000 + "1", "MemoryError", id="too many signs"),
    ],
)
def test_a_text_with_a_syntax_error_is_not_explained_and_the_answer_has_the_line(code, reported):
    asked = {"do": "explain", "code": code, "policy": "2.6", "device": "cpu"}
    failed = json.loads(page_kernel.answer(json.dumps(asked)))["failed"]
    assert reported in failed and "\\n" not in failed


def test_printed_text_is_kept_if_the_program_closes_its_output():
    code = "import sys\nprint('before')\nsys.stdout.close()\nraise ValueError('late')"
    asked = {"do": "check", "before": "", "code": code}
    assert json.loads(page_kernel.answer(json.dumps(asked))) == {
        "error": "ValueError: late (line 4)",
        "printed": "before\n",
    }


@pytest.mark.parametrize(("tag", "language"), [("zh-CN", "zh-CN"), ("en", None), ("fr", None), (None, None)])
def test_an_answer_is_in_the_language_of_the_page_or_in_english(tag, language):
    variant = {"id": "program", "label": "", "code": "x = mt.ones([2])", "policy": "2.6"}
    asked = {"do": "record", "variants": [variant], "device": "cpu", "title": "", "ask": "", "heading": ""}
    asked |= {"language": tag} if tag else {}
    trace = json.loads(page_kernel.answer(json.dumps(asked)))["trace"]
    assert trace.get("language") == language
    assert ("新建存储" in trace["variants"][0]["steps"][0]["say"]) == (language == "zh-CN")
    report = json.loads(page_kernel.answer(json.dumps({**asked, **variant, "do": "explain"})))["report"]
    assert ("原位操作" in report["summary"]) == (language == "zh-CN")
