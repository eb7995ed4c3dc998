"""Test the controls of a page without Python: lists of prepared variants of a program, and figures with sliders."""

from __future__ import annotations

import pytest

from tests.support.waiting import box_of, drawn, soon

#: Chapters with stages whose variants differ in a number, a slice or a call.
WITH_VARIANTS = ["02_three_kinds_of_operation", "03_views", "05_counting_bytes", "10_views_meet_gradients"]
WITH_FIGURES = ["05_counting_bytes", "06_the_allocator"]
PROGRAM = "stage => stage.shadowRoot.querySelector('.code').innerText"
# True if nothing covers the middle of the list of variants, which is in a line of the program.
IS_REACHED = """list => {
    const { left, top, width, height } = list.getBoundingClientRect();
    return list.getRootNode().elementFromPoint(left + width / 2, top + height / 2) === list;
}"""
CHOICES = "figure => JSON.stringify(figure.at)"
PICTURE = "figure => figure.shadowRoot.querySelector('.pic').innerHTML"


def stages_with_variants(page):
    stages = page.locator("memory-stage")
    counts = stages.evaluate_all("stages => stages.map(stage => stage.data.variants.length)")
    return [(stages.nth(number), count) for number, count in enumerate(counts) if count > 1]


@pytest.mark.parametrize("name", WITH_VARIANTS)
def test_the_variants_of_a_program_are_chosen_with_keys_and_with_a_pointer(site, visit, name):
    page = visit(f"{site}chapters/{name}.html").page
    drawn(page)
    found = stages_with_variants(page)
    assert found
    for stage, count in found:
        chooser = stage.locator(".chooser select")
        stage.evaluate("stage => stage.scrollIntoView({ block: 'center', behavior: 'instant' })")
        stage.evaluate("stage => stage.choose(0)")
        drawn(page)
        programs = {stage.evaluate(PROGRAM)}
        chooser.focus()
        for variant in range(1, count):
            page.keyboard.press("ArrowDown")
            assert soon(stage.evaluate, "stage => stage.at.variant") == variant
            assert soon(chooser.evaluate, "list => list.matches(':focus')")
            programs.add(stage.evaluate(PROGRAM))
        assert len(programs) == count
        assert soon(chooser.evaluate, IS_REACHED)
        chooser.click()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        assert soon(stage.evaluate, "stage => stage.at.variant") == count - 2


def test_most_lists_of_variants_are_in_the_line_that_differs(site, visit):
    places = []
    for name in WITH_VARIANTS:
        page = visit(f"{site}chapters/{name}.html").page
        for stage, _ in stages_with_variants(page):
            places.append(stage.locator(".code .handle select").count())
    assert sum(places) > len(places) / 2


def pull(page, control):
    """Drag the handle of a slider from its left end to its right one."""
    box = box_of(control)
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, middle, steps=4)
    page.mouse.up()


def has_changed(figure, before):
    """Return True as soon as both the choices and the picture of a figure differ from the earlier ones."""
    choices, picture = before
    return soon(lambda: figure.evaluate(CHOICES) != choices and figure.evaluate(PICTURE) != picture)


@pytest.mark.parametrize("name", WITH_FIGURES)
def test_a_slider_of_a_figure_is_moved_with_keys_and_with_a_pointer(site, visit, name):
    page = visit(f"{site}chapters/{name}.html").page
    drawn(page)
    moved = 0
    for figure in page.locator("memory-figure").all():
        control = figure.locator("input[type=range]:visible").first
        if not control.count():
            continue
        figure.evaluate("figure => figure.scrollIntoView({ block: 'center', behavior: 'instant' })")
        drawn(page)
        control.focus()
        for move in (lambda: page.keyboard.press("ArrowRight"), lambda control=control: pull(page, control)):
            page.keyboard.press("Home")
            drawn(page)
            before = figure.evaluate(CHOICES), figure.evaluate(PICTURE)
            move()
            assert has_changed(figure, before)
        moved += 1
    assert moved


def test_strides_are_typed_and_an_element_is_chosen_in_the_picture(site, visit):
    page = visit(f"{site}chapters/03_views.html").page
    drawn(page)
    figure = page.locator("memory-figure").first
    figure.evaluate("figure => figure.scrollIntoView({ block: 'center', behavior: 'instant' })")
    drawn(page)
    before = figure.evaluate(CHOICES), figure.evaluate(PICTURE)
    dimensions = figure.evaluate("figure => figure.at.shape.length")
    figure.locator("[data-set=strides]").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(", ".join(["0"] * dimensions))
    assert soon(figure.evaluate, "figure => figure.at.strides") == [0] * dimensions
    assert has_changed(figure, before)
    drawn(page)
    before = figure.evaluate(CHOICES), figure.evaluate(PICTURE)
    figure.locator("[data-pick^=e]").last.click()
    assert has_changed(figure, before)
    drawn(page)
    before = figure.evaluate(CHOICES), figure.evaluate(PICTURE)
    figure.locator("fieldset input").first.focus()
    page.keyboard.press("ArrowDown")
    assert has_changed(figure, before)
