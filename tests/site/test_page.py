"""Test the parts of a page around its text: the list of chapters, colours, tables of appendices, fonts, boxes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chapters.small_engine import workshop
from tests.support.site.measures import SHIFT
from tests.support.waiting import box_of, soon, wait_for_script

APPENDIX = "chapters/A_every_in_place_operation"
CHAPTER = "chapters/08_leaves"


def copied(page, piece):
    """Press the button Copy of a piece of code, and return the text that it put on the clipboard."""
    page.evaluate("() => { navigator.clipboard.writeText = async text => { globalThis.copied = text; }; }")
    page.evaluate("() => { globalThis.copied = null; }")
    piece.locator("button.copy").click()
    wait_for_script(page, "globalThis.copied")
    return page.evaluate("globalThis.copied")


def test_copied_cells_and_diffs_assemble_the_engine_of_the_chapter(site, visit):
    page = visit(f"{site}chapters/16_an_engine_in_an_afternoon.html", width=1440).page
    cells = page.locator(".cell_input", has_text=re.compile(r"^\s*%%engine"))
    text = "\n\n\n".join(copied(page, cell).rstrip("\n") for cell in cells.all()) + "\n"
    diffs = page.locator(".mt-diff")
    assert soon(diffs.count) == 6
    for diff in diffs.all():
        text = workshop.patched(text, copied(page, diff))
    assert text == workshop.FINISHED.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("folder", "name", "link", "scripts"),
    [("", "Chapters", "4. Aliases", True), ("", "Chapters", "4. Aliases", False), ("zh/", "目录", "4. 别名", False)],
)
def test_on_a_phone_the_list_of_chapters_opens_with_and_without_scripts(site, visit, folder, name, link, scripts):
    page = visit(f"{site}{folder}{CHAPTER}.html", width=390, scripts=scripts).page
    chapters = page.get_by_role("navigation", name=name)
    assert not chapters.is_visible()
    page.get_by_role("button", name=name).click()
    assert soon(chapters.is_visible)
    chapters.get_by_role("link", name=link).click()
    assert soon(lambda: page.url) == f"{site}{folder}chapters/04_aliases.html"


def test_the_list_of_chapters_marks_the_current_page_and_lists_its_sections(site, visit):
    chapters = visit(f"{site}{CHAPTER}.html", width=1440).page.get_by_role("navigation", name="Chapters")
    current = chapters.locator("[aria-current=page]")
    assert current.all_text_contents() == ["8. Leaves"]
    sections = chapters.locator("li:has(> [aria-current=page]) li a")
    assert "What to remember" in sections.all_text_contents()
    sections.get_by_text("What to remember").click()
    chapters.locator("li li [aria-current]", has_text="What to remember").wait_for()
    assert current.all_text_contents() == ["8. Leaves"]


def test_the_colours_follow_the_system_until_the_reader_chooses_and_the_choice_is_stored(site, visit):
    page = visit(f"{site}{CHAPTER}.html", width=1440, scheme="dark").page
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    button = page.get_by_role("button", name=re.compile("^Colours"))
    button.click()
    assert soon(button.text_content) == "Colours: light"
    assert soon(lambda: page.evaluate(ground) == "rgb(255, 255, 255)" != dark)
    page.reload()
    assert soon(page.evaluate, ground) == "rgb(255, 255, 255)"


def test_without_scripts_the_colours_follow_the_system(site, visit):
    page = visit(f"{site}{CHAPTER}.html", scheme="dark", scripts=False).page
    light = visit(f"{site}{CHAPTER}.html", scheme="light", scripts=False).page
    shade = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(shade) != light.evaluate(shade)


def test_a_link_cut_in_the_middle_of_a_letter_opens_the_page_without_an_error(site, visit):
    seen = visit(f"{site}{CHAPTER}.html#the-%C3/2", width=1440)
    seen.page.evaluate("location.hash = '#gone%zz'")
    seen.page.get_by_role("heading", name="8. Leaves").wait_for()
    assert seen.complaints == []


@pytest.mark.parametrize("folder", ["", "zh/"], ids=["en", "zh"])
def test_ctrl_k_leads_to_the_search(site, visit, folder):
    page = visit(f"{site}{folder}{CHAPTER}.html", width=1440).page
    page.keyboard.press("Control+k")
    page.keyboard.type("alias")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}{folder}search.html?q=alias*")


def test_a_page_uses_the_books_fonts(site, visit):
    seen = visit(f"{site}{CHAPTER}.html")
    assert seen.page.evaluate(
        "document.fonts.check('16px \"Book Sans\"') && document.fonts.check('16px \"Book Mono\"')"
    )
    assert any("BookSans-Regular" in request.url for request in seen.finished)


def test_the_links_to_the_previous_and_to_the_next_page_are_the_questions_that_the_pages_answer(site, visit):
    page = visit(f"{site}chapters/fifteen_confusions.html").page
    leads = page.get_by_role("navigation", name="Previous and next page").get_by_role("link")
    assert [text.endswith("?") for text in leads.all_text_contents()] == [True, True]


def test_an_appendix_shows_all_its_columns_and_keeps_their_headers_in_view(site, visit):
    page = visit(f"{site}{APPENDIX}.html", width=1440).page
    boxes = page.locator(".appendix .table-scroll")
    assert boxes.count() > 5
    assert boxes.evaluate_all("boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length") == 0
    longest = boxes.filter(has=page.locator("tr:nth-child(40)")).first
    longest.locator("tbody tr").nth(30).scroll_into_view_if_needed()
    page.mouse.move(700, 400)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 400)
    wait_for_script(page, "before => scrollY > before", before)
    assert box_of(longest.locator("thead th").first)["y"] < 120


def test_an_appendix_is_filtered_by_words_and_sorted_by_its_headers(site, visit):
    page = visit(f"{site}{APPENDIX}.html", width=1440).page
    rows = page.locator(".appendix section section tbody tr:visible")
    whole = rows.count()
    table = page.locator(".appendix table:has(tr:nth-child(40))").first
    names = table.locator("tbody tr > :first-child")
    before = names.all_text_contents()
    page.get_by_label("Show rows with").fill("sigmoid_")
    assert soon(lambda: 0 < rows.count() < 10)
    assert soon(lambda: all("sigmoid_" in text for text in rows.all_text_contents()))
    page.get_by_label("Show rows with").fill("")
    assert soon(rows.count) == whole
    head = table.get_by_role("button").first
    for order in ("ascending", "descending"):
        head.click()
        assert soon(table.locator("th").first.get_attribute, "aria-sort") == order
    assert soon(lambda: names.first.text_content() != before[0])
    head.click()
    assert soon(names.all_text_contents) == before


# ---- code and scrolling boxes ----------------------------------------------------------------------------------------

OWN = "chapters/your_own_program"
LAYERS = "chapters/12_in_place_layers"
# Blocks of code whose text wraps, or extends beyond its box, although the page has space for its longest line.
TIGHT = """blocks => blocks.filter(pre => {
    const alone = pre.cloneNode(true);
    alone.style.cssText = 'position: absolute; width: max-content; white-space: pre';
    pre.parentElement.append(alone);
    const wanted = alone.getBoundingClientRect().width;
    alone.remove();
    const room = document.querySelector('.bd-article').getBoundingClientRect().width;
    return wanted < room - 10 && pre.getBoundingClientRect().width < wanted - 1;
}).map(pre => pre.textContent.slice(0, 60))"""
BLOCKS = (
    ".bd-article :is(.cell_input, .output.stream, .output.text_plain, section > div[class*=highlight-]) pre:visible"
)


@pytest.mark.parametrize("name", [OWN, LAYERS])
def test_code_and_its_output_are_as_wide_as_their_longest_line_if_the_page_has_space(site, visit, name):
    page = visit(f"{site}{name}.html", width=1440).page
    assert page.locator(BLOCKS).count() > 2
    assert page.locator(BLOCKS).evaluate_all(TIGHT) == []


def test_a_block_of_code_has_as_much_space_below_as_above(site, visit):
    page = visit(f"{site}{OWN}.html", width=390).page
    block = page.locator("section > div[class*=highlight-]").first
    gaps = block.evaluate(
        """block => {
            const [above, own, below] = [block.previousElementSibling, block, block.nextElementSibling]
                .map(one => one.getBoundingClientRect());
            return [own.top - above.bottom, below.top - own.bottom];
        }"""
    )
    assert min(gaps) >= 16 and abs(gaps[0] - gaps[1]) <= 6


def test_an_option_of_a_command_is_not_broken_after_its_hyphens(site, visit):
    page = visit(f"{site}{OWN}.html", width=390).page
    option = page.locator(".whole", has_text="--epochs").first
    assert option.inner_text() == "--epochs"
    assert option.evaluate("one => one.getClientRects().length") == 1


def test_a_box_that_scrolls_sideways_fades_until_its_end_is_in_view(site, visit):
    page = visit(f"{site}index.html", width=390).page
    box = page.locator(".table-scroll").first
    expect(box).to_have_class(re.compile(r"\bmore\b"))
    assert box.evaluate("box => box.scrollWidth > box.clientWidth && getComputedStyle(box).maskImage") != "none"
    box.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    wait_for_script(page, "box => !box.classList.contains('more')", box.element_handle())
    assert box.evaluate("box => getComputedStyle(box).maskImage") == "none"
    page.set_viewport_size({"width": 1280, "height": 900})
    wait_for_script(page, "box => !box.classList.contains('more')", box.element_handle())


@pytest.mark.parametrize("name", [CHAPTER, f"zh/{CHAPTER}", "chapters/B_error_index", "chapters/D_errata"])
def test_on_a_phone_a_long_row_is_a_list_with_the_headers_of_its_columns(site, visit, name):
    page = visit(f"{site}{name}.html", width=360).page
    boxes = page.locator(".table-scroll")
    assert soon(boxes.evaluate_all, "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length") == 0
    table = page.locator("table.stacked").last
    headers = [text.strip(" ↕\n") for text in table.locator("thead tr > *").all_text_contents()]
    cells = table.locator("tbody tr").first.locator("> *")
    shown = "cells => cells.map(cell => getComputedStyle(cell, '::before').content)"
    assert soon(lambda: cells.evaluate_all(shown)) == ["none", *(f'"{header}"' for header in headers[1:])]
    tops = "cells => cells.map(cell => cell.getBoundingClientRect().top)"
    assert soon(lambda: len(set(cells.evaluate_all(tops)))) == len(headers)
    page.set_viewport_size({"width": 1280, "height": 900})
    assert soon(lambda: cells.evaluate_all(shown)) == ["none"] * len(headers)
    assert soon(lambda: len(set(cells.evaluate_all(tops)))) == 1


def test_the_filter_also_hides_rows_on_a_phone(site, visit):
    page = visit(f"{site}chapters/B_error_index.html", width=390).page
    rows = page.locator(".stacked tbody tr:visible")
    everything = rows.count()
    page.get_by_label("Show rows with").fill("overlaps the target of the write")
    assert soon(lambda: 0 < rows.count() < everything)


def test_the_headers_that_sort_are_high_enough_to_be_touched(site, visit):
    page = visit(f"{site}{APPENDIX}.html", width=390).page
    assert min(page.locator("button.sort").evaluate_all("all => all.map(one => one.offsetHeight)")) >= 24


def test_without_scripts_a_picture_keeps_its_size_and_scrolls_in_its_box(site, visit):
    seen = visit(f"{site}{LAYERS}.html", width=390, scripts=False)
    drawn = seen.page.locator(".stage-fallback svg").first
    assert box_of(drawn)["width"] == int(drawn.get_attribute("width"))
    assert seen.overflow() == 0


@pytest.mark.parametrize("name", ["fifteen_confusions", "09_automatic_detection"])
def test_a_page_with_stages_beside_its_text_does_not_move_while_it_opens(site, visit, name):
    """Some stages are too tall for two columns. The script can measure this only while the page opens."""
    page = visit(f"{site}chapters/{name}.html", width=1350, whole=False).page
    assert soon(page.locator(".beside.tall").count)
    assert page.evaluate(SHIFT) < 0.1
