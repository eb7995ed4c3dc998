"""Test the depths of the picture, its size, and the motion between two steps."""

from __future__ import annotations

import re

import pytest

from memory_stage.web import picture
from tests.support.waiting import box_of, soon
from tests.support.web import pages
from tests.support.web.stepping import STEP

DEPTHS = ("memory", "tensors", "history")


def words(name: str, step: int, **options) -> str:
    """Return all texts of a picture."""
    trace = pages.trace(name)
    svg = picture._v8().call("picture", trace, {"variant": 0, "step": step, "width": 760, **options})
    return " ".join(part.split("<")[0] for part in svg.split(">") if part.split("<")[0].strip())


# ---------- depths ----------


def test_each_depth_shows_more_than_the_previous_depth():
    memory, tensors, history = (words("stale", 3, depth=depth) for depth in DEPTHS)
    assert "storage 2" in memory and "written now" in memory
    assert not [word for word in ("shape", "[3]", "version", "multiply", "a@0") if word in memory]
    assert "shape" in tensors and "[3]" in tensors and "version 0 → 1" in tensors
    assert "multiply" not in tensors and "a@0" not in tensors
    assert "saved a@0" in history and "0 ≠ 1" in history and "a@0 is gone" in history


def test_a_trace_sets_the_depth_and_an_option_replaces_it():
    trace = {**pages.trace("stale"), "depth": "memory"}
    draw = picture._v8().call
    assert "shape" not in draw("picture", trace, {"step": 3})
    assert "shape" in draw("picture", trace, {"step": 3, "depth": "tensors"})
    assert "shape" in draw("picture", pages.trace("stale"), {"step": 3})


def test_memory_that_only_backward_needs_is_drawn_at_every_depth():
    trace = pages.trace("stale")
    step = next(k for k, each in enumerate(trace["variants"][1]["steps"]) if "copied" in each["say"])
    for depth in DEPTHS:
        svg = picture._v8().call("picture", trace, {"variant": 1, "step": step, "depth": depth})
        assert 'data-storage="4"' in svg, depth
    assert "(backward)" in picture._v8().call("picture", trace, {"variant": 1, "step": step, "depth": "memory"})


def test_two_names_of_a_tensor_are_drawn_with_one_tensor():
    svg = picture._v8().call("picture", pages.trace("three"), {"variant": 2, "step": 1, "depth": "memory"})
    assert svg.count("data-tensor") == 1 and svg.count("data-name") == 2


@pytest.mark.parametrize("depth", DEPTHS)
def test_every_stage_opens_at_least_at_the_depth_that_the_reader_chose(browser, tmp_path, depth):
    path = tmp_path / "two.html"
    stages = [{**pages.trace(name), "depth": opens} for name, opens in (("three", "memory"), ("stale", "tensors"))]
    path.write_text(pages.page("".join(map(pages.element, stages))), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    shown = "[...document.querySelectorAll('memory-stage')].map(stage => stage.depth)"
    assert page.evaluate(shown) == ["memory", "tensors"]
    first = page.locator("memory-stage").first
    first.get_by_role("button", name="Details").click()
    first.locator(f"[data-depth][value={depth}]").check()
    assert soon(page.evaluate, "document.querySelector('memory-stage').depth") == depth
    page.reload()
    deepest = [max(depth, opens, key=DEPTHS.index) for opens in ("memory", "tensors")]
    assert soon(page.evaluate, shown) == deepest
    context.close()


def test_a_stage_keeps_its_depth_if_the_reader_changes_the_program(show):
    page = show(body=pages.element({**pages.trace("three"), "depth": "memory"}))
    page.evaluate("trace => { host().trace = trace }", pages.trace("slice"))
    assert page.evaluate("host().depth") == "memory"


# ---------- size ----------

CELLS = """() => [...host().shadowRoot.querySelectorAll('.pic [data-cell] > rect:first-child')]
    .map(cell => cell.getBoundingClientRect().height)"""


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("width", [390, 800, 1180])
def test_cells_are_at_least_44_px_high_and_equally_high_at_every_step(show, depth, width):
    for name in ("three", "slice", "stale"):
        page = show(body=pages.element({**pages.trace(name), "depth": depth}), width=width, motion="reduce")
        heights = set()
        for step in range(page.evaluate("host().frames.length")):
            page.evaluate(f"host().go({step})")
            heights |= set(page.evaluate(CELLS))
        # sizes may differ by fractions of a pixel
        assert max(heights) - min(heights) < 0.5 and min(heights) >= 44, (name, heights)


@pytest.mark.parametrize("depth", ["memory", "tensors"])
@pytest.mark.parametrize("width", [390, 1180])
def test_before_the_first_click_the_picture_takes_at_least_half_of_the_stage(show, width, depth):
    trace = {**pages.trace("three"), "depth": depth, "opens": pages.trace("three")["variants"][2]["id"]}
    trace["variants"][2]["key"] = 1
    page = show(body=pages.element(trace), width=width, motion="reduce")
    box, whole = box_of(page.locator(".pic svg")), box_of(page.locator(".stage"))
    assert box["width"] * box["height"] >= 0.5 * whole["width"] * whole["height"]


@pytest.mark.parametrize("width", [390, 760, 1180])
def test_a_picture_folds_nothing_if_it_fits_the_given_height(width):
    folded = 0
    for name in ("three", "stale"):
        trace = pages.trace(name)
        for variant, each in enumerate(trace["variants"]):
            for step in range(len(each["steps"])):
                whole = picture.svg(trace, variant, step, width)
                height = int(re.search(r' height="(\d+)"', whole)[1])
                assert picture.svg(trace, variant, step, width, room=height) == whole, (name, variant, step)
                folded += picture.svg(trace, variant, step, width, room=height // 2) != whole
    assert folded > 5  # at half the height, parts of many pictures are folded


def test_the_picture_has_the_same_height_at_every_step_of_every_variant(show):
    page = show(body=pages.element({**pages.trace("three"), "depth": "memory"}), width=1180, motion="reduce")
    heights = set()
    for variant in range(3):
        page.evaluate(f"host().choose({variant})")
        for step in range(page.evaluate("host().frames.length")):
            page.evaluate(f"host().go({step})")
            heights.add(box_of(page.locator(".pic"))["height"])
    assert len(heights) == 1


def test_on_a_phone_a_program_of_six_rows_is_shown_completely(show):
    trace = pages.trace("three")
    for variant in trace["variants"]:
        variant["code"] = ["x = mt.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)", *variant["code"][:4]]
    page = show(body=pages.element(trace), width=390)
    heights = page.locator(".code li").evaluate_all("lines => lines.map(line => line.offsetHeight)")
    hidden = page.locator(".code").evaluate("code => code.scrollHeight - code.clientHeight")
    assert (sum(heights) / 21, hidden) == (6, 0)


def test_a_stage_has_three_controls_at_first_and_more_after_clicks(show):
    seen = """() => [...host().shadowRoot.querySelectorAll('button, input, select, summary')]
        .filter(el => el.checkVisibility()).map(el => el.className || el.localName)"""
    trace = pages.trace("stale")
    trace["variants"][0]["key"] = 3
    page = show(body=pages.element(trace))
    assert page.evaluate(seen) == ["select", "next", "deeper"]
    page.locator(".next").click()
    assert soon(page.evaluate, seen) == ["select", "back", "next", "input", "deeper"]
    page.locator(".deeper").click()
    assert soon(lambda: len(page.evaluate(seen))) > 12


def test_show_step_chooses_a_variant_by_its_label_and_counts_steps_from_1(show):
    page = show("stale")
    page.evaluate("host().showStep(4, 'copy on write')")
    assert page.evaluate("[host().at.variant, host().at.step]") == [1, 3]
    page.evaluate("host().showStep(2)")
    assert page.evaluate("[host().at.variant, host().at.step]") == [1, 1]
    page.evaluate("host().showStep(99)")
    assert page.evaluate(STEP) == len(pages.trace("stale")["variants"][1]["steps"]) - 1


# ---------- motion ----------

ANIMATIONS = """() => host().shadowRoot.getAnimations({ subtree: true })
    .filter(each => each.effect.target?.closest('.pic'))
    .map(each => [each.animationName ?? 'moves', each.effect.getComputedTiming().endTime])"""


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_animation_of_a_step_takes_less_than_300_ms(show, depth):
    page = show(body=pages.element({**pages.trace("slice"), "depth": depth}))
    kinds = set()
    for step in range(9):
        page.evaluate(f"host().go({step})")
        moving = page.evaluate(ANIMATIONS)
        assert all(end < 300 for _, end in moving), moving
        kinds |= {kind for kind, _ in moving}
    assert {"memory-new", "memory-flip"} <= kinds


def test_a_freed_storage_fades_and_its_elements_are_removed(show):
    page = show(body=pages.element({**pages.trace("policies"), "depth": "memory"}))
    freed = next(
        k
        for k, step in enumerate(pages.trace("policies")["variants"][0]["steps"])
        if any(event["do"] == "free" and event["storages"] for event in step["events"])
    )
    page.evaluate(f"host().go({freed - 1})")
    faded = f"host().go({freed}); [...host().shadowRoot.querySelectorAll('.pic svg > [aria-hidden]')].length"
    assert page.evaluate(faded) >= 1
    assert soon(page.evaluate, "host().shadowRoot.querySelectorAll('.pic svg > [aria-hidden]').length") == 0


def test_nothing_moves_for_a_reader_who_prefers_reduced_motion(show):
    page = show("slice", motion="reduce")
    for step in range(9):
        page.evaluate(f"host().go({step})")
        assert page.evaluate(ANIMATIONS) == []
