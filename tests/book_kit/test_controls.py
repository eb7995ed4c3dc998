"""Test the controls of a measurement: in a notebook, a new choice reruns it; a page shows stored results."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import minitensor as mt
from book_kit import timeline
from book_kit.widgets import controls
from minitensor import memory
from tests.support.chapters.interpreter import ThisInterpreter
from tests.support.waiting import soon

WIDGET = "application/vnd.jupyter.widget-view+json"
CHOICES = {"numbers": [1024, 2048], "operation": ["add", "add_", "matmul"]}


def measured(numbers, operation):
    """Return a timeline of one operation."""
    with memory.record() as recording:
        x = mt.ones([numbers])
        getattr(x, operation)(mt.ones([3]) if operation == "matmul" else x)
    return timeline.show(recording, title=f"{operation} of {numbers} numbers")


def peak(figure) -> str:
    return figure.tables[0].rows[0][1]


def test_another_choice_runs_the_measurement_again():
    shown = controls.show(measured, CHOICES)
    assert (shown.chosen, peak(shown.figure)) == ({"numbers": 1024, "operation": "add"}, "8.0 KiB")
    assert peak(shown.choose(operation="add_")) == "4.0 KiB"
    assert peak(shown.choose(numbers=2048)) == "8.0 KiB"


def test_an_error_is_shown_instead_of_the_figure_and_the_next_choice_works():
    shown = controls.show(measured, CHOICES)
    assert shown.choose(operation="matmul") is None
    assert "ValueError" in shown._repr_mimebundle_()[0]["text/plain"]
    assert peak(shown.choose(operation="add")) == "8.0 KiB"


@pytest.mark.parametrize("wrong", [{"colour": "red"}, {"numbers": 7}])
def test_an_unknown_argument_or_value_raises_an_error_that_names_the_argument(wrong):
    shown = controls.show(measured, CHOICES)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        shown.choose(**wrong)
    assert shown.chosen == {"numbers": 1024, "operation": "add"}


ON_PAGE = {"normal": {}, "normal, large": {"numbers": 2048}, "`add_`, large": {"operation": "add_", "numbers": 2048}}

BESIDE_THEIR_BUTTONS = """labels => labels.map(label => {
    const button = label.querySelector('input').getBoundingClientRect();
    const words = document.createRange();
    words.selectNodeContents(label);
    words.setStartAfter(label.querySelector('input'));
    const first = [...words.getClientRects()].find(box => box.width > 6);
    return first.left > button.left && first.top < button.bottom && first.bottom > button.top;
})"""


@pytest.mark.parametrize("nothing", [{}, {"numbers": []}])
def test_an_empty_list_of_choices_is_refused(nothing):
    with pytest.raises(ValueError, match="at least one value"):
        controls.show(measured, nothing)


def test_a_page_has_the_figure_and_the_choice_but_no_control(monkeypatch):
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    bundle = controls.show(measured, CHOICES)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "<memory-figure" in bundle["text/html"]
    assert "Measured with numbers 1024, operation add." in bundle["text/html"]
    assert not any(tag in bundle["text/html"] for tag in ("<select", "<input", "<button"))


def test_a_page_offers_the_named_choices_each_with_its_own_figure(monkeypatch):
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    on_page = {"normal": {}, "`add_`, twice the size": {"operation": "add_", "numbers": 2048}}
    shown = controls.show(measured, CHOICES, on_page=on_page)._repr_mimebundle_()["text/html"]
    assert shown.count('<input type="radio"') == shown.count("<memory-figure") == 2
    assert shown.count(" checked") == 1
    assert shown.index("add of 1024 numbers") < shown.index("add_ of 2048 numbers")
    assert "<code>add_</code>, twice the size" in shown


def test_the_label_of_a_choice_stays_beside_its_button_at_every_width(monkeypatch, browser):
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    page = browser.new_page()
    page.set_content(controls.show(measured, CHOICES, on_page=ON_PAGE)._repr_mimebundle_()["text/html"])
    for width in range(120, 400, 7):
        page.set_viewport_size({"width": width, "height": 600})
        labels = page.locator("label:has(> input)")
        assert soon(lambda labels=labels: labels.evaluate_all(BESIDE_THEIR_BUTTONS)) == [True] * len(ON_PAGE), width
    page.close()


def test_a_choice_on_a_page_shows_only_its_figure(monkeypatch, browser):
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    page = browser.new_page()
    page.set_content(controls.show(measured, CHOICES, on_page=ON_PAGE)._repr_mimebundle_()["text/html"])
    for number in range(len(ON_PAGE)):
        page.locator("label:has(> input)").nth(number).click()
        figures = page.locator("[class^=mt-choices] > div")
        visible = soon(lambda figures=figures: figures.evaluate_all("all => all.map(each => each.checkVisibility())"))
        assert visible == [each == number for each in range(len(ON_PAGE))]
    page.close()


def test_a_choice_on_a_page_with_an_unknown_value_is_refused():
    with pytest.raises(ValueError, match="operation must be one of"):
        controls.show(measured, CHOICES, on_page={"sine": {"operation": "sin"}})


def test_without_ipywidgets_a_notebook_has_html_but_no_widget(monkeypatch):
    monkeypatch.delenv("MINITENSOR_BOOK", raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    bundle = controls.show(measured, CHOICES)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}


def test_choosing_from_a_dropdown_in_a_kernel_reruns_the_measurement(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.delenv("MINITENSOR_BOOK", raising=False)
    cells = [
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})",
        "from tests.book_kit.test_controls import CHOICES, controls, measured\n"
        "shown = controls.show(measured, CHOICES)\nshown",
        # The front end sends the new index when a reader chooses.
        "shown.widgets['operation'].set_state({'index': 1})",
        "print(shown.figure.data['title'], '|', shown._box.children[1].data['title'])",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    from jupyter_client.manager import AsyncKernelManager

    manager = AsyncKernelManager(kernel_spec_manager=ThisInterpreter())
    NotebookClient(notebook, km=manager, timeout=120, store_widget_state=True).execute()
    view = notebook.cells[1].outputs[0].data[WIDGET]
    models = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    dropdowns = [model["state"] for model in models.values() if model["model_name"] == "DropdownModel"]
    assert view["model_id"] in models
    assert [dropdown["description"] for dropdown in dropdowns] == ["numbers", "operation"]
    assert [dropdown["index"] for dropdown in dropdowns] == [0, 1]
    assert notebook.cells[3].outputs[0].text == "add_ of 1024 numbers | add_ of 1024 numbers\n"
