"""Compare the slides that use PyTorch's names to the answers that `facts/class_deck.py` recorded in real PyTorch."""

from __future__ import annotations

import json

import pytest
from bs4 import BeautifulSoup

from _ext.book_pages.built_page import BuiltPage
from tests.support.stage.replay import after_each_line
from tools.build import ROOT

ANSWERS = next(iter(json.loads((ROOT / "facts/class-deck.json").read_text(encoding="utf-8")).values()))["answers"]
STAGES = {name.removeprefix("stage: "): answer for name, answer in ANSWERS.items() if name.startswith("stage: ")}
ERRORS = {name.removeprefix("error: "): answer for name, answer in ANSWERS.items() if name.startswith("error: ")}
ASKED = {question: answer for question, answer in ANSWERS.items() if not question.startswith(("stage: ", "error: "))}
#: The question that no CPU answers, because it asks for the blocks that a GPU's allocator counts.
NEEDS_A_GPU = "How many MiB are allocated after line 3, and what is the peak?"


@pytest.fixture(scope="module")
def deck(book):
    text = BeautifulSoup((book / "slides/torch.html").read_text(encoding="utf-8"), "html.parser").main
    return BuiltPage("slides/torch", f"<article>{text}</article>")


@pytest.fixture(scope="module")
def variants(deck):
    """Map the title of each stage, followed by the label of a variant if it has one, to the variant."""
    traces = [json.loads(stage.script.string) for stage in deck.body.select("memory-stage")]
    return {
        f"{trace['title']}: {each['label']}" if each["label"] else trace["title"]: each
        for trace in traces
        for each in trace["variants"]
    }


def drawn(memory):
    """Return the named tensors of a picture in the form of the record."""
    named = {name: memory.tensors[key] for name, key in memory.names.items() if " " not in name}
    found = {}
    for name, tensor in named.items():
        storage = memory.storages[tensor["storage"]]
        cells = [tensor["offset"]]
        for length, stride in zip(tensor["shape"], tensor["strides"], strict=True):
            cells = [cell + i * stride for cell in cells for i in range(length)] if storage["length"] <= 16 else []
        found[name] = {
            "shape": tensor["shape"],
            "strides": tensor["strides"],
            "offset": tensor["offset"],
            "version": tensor.get("version", storage["version"]),
            "requires_grad": not tensor["stop_gradient"],
            "leaf": tensor["leaf"],
            "bytes": storage["bytes"],
            "shares with": min(other for other, each in named.items() if each["storage"] == tensor["storage"]),
            "numbers": [float(storage["values"][str(cell)]) for cell in cells] or None,
        }
    return found


def differences(recorded, shown):
    """Yield each property of a tensor in which a picture differs from PyTorch: its name, the property, both values."""
    for name in sorted(recorded.keys() | shown.keys()):
        one, two = recorded.get(name), shown.get(name)
        if one is None or two is None:
            yield name, "exists", one is not None, two is not None
            continue
        for key in one:
            # A picture shows three digits of a number.
            same = one[key] == (pytest.approx(two[key], rel=5e-3) if key == "numbers" and two[key] else two[key])
            if not same:
                yield name, key, one[key], two[key]


@pytest.mark.parametrize("key, other", [("numbers", [0.0] * 6), ("version", 0), ("strides", [1, 3]), ("bytes", 0)])
def test_a_picture_that_differs_from_the_record_is_reported(key, other):
    recorded = STAGES["Two tensors, six numbers"]["lines"]["3"]
    shown = {**recorded, "x": {**recorded["x"], key: other}}
    assert list(differences(recorded, shown)) == [("x", key, recorded["x"][key], other)]
    assert list(differences(recorded, recorded)) == []


def test_the_record_has_the_programs_of_the_slides(variants):
    assert {name: answer["program"] for name, answer in STAGES.items()} == {
        name: "\n".join(each["code"]) for name, each in variants.items()
    }


def test_every_picture_shows_the_tensors_of_pytorch_after_each_statement(variants):
    different, compared = [], 0
    for name, variant in variants.items():
        memories = {}
        for line, memory in after_each_line(variant):
            memories[str(line)] = drawn(memory)
        for line, recorded in STAGES[name]["lines"].items():
            compared += 1
            different += [(name, line, *each) for each in differences(recorded, memories[line])]
    assert not different, "\n".join(map(str, different))
    assert compared > 50


def test_backward_raises_in_pytorch_if_a_picture_shows_a_stale_tensor(variants):
    for name, answer in STAGES.items():
        assert ("backward raises" in answer) == (variants[name]["verdict"] == "stale"), name
    assert any("backward raises" in answer for answer in STAGES.values())


def test_the_slide_of_an_error_has_the_program_and_the_message_of_pytorch(deck):
    slides = deck.body.select(".slides > .error")
    assert {slide.h2.get_text() for slide in slides} == set(ERRORS)
    for slide in slides:
        recorded = ERRORS[slide.h2.get_text()]
        assert [line.get_text() for line in slide.select("li")] == recorded["program"].splitlines()
        assert slide.select_one(".message").get_text() == recorded["message"]


def test_the_right_option_of_every_question_is_the_answer_of_pytorch(deck):
    compared = set()
    for question in deck.questions:
        words = " ".join(question.select_one(".mt-question").get_text().split())
        if NEEDS_A_GPU in words:
            continue
        (asked,) = (each for each in ASKED if each in words)
        right = question.select(".mt-options > li")[int(question["data-right"])].get_text()
        answer = ASKED[asked]["answer"]
        assert right == answer, words
        compared.add(asked)
    assert compared == set(ASKED)
