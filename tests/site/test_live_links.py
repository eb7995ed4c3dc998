"""Test links with a program in their fragment. The page shows the program, but runs it only after a click."""

from __future__ import annotations

import pytest

from tests.support.site.editing import ALIASES, CONFUSIONS, THREE, Stage, needs_python, python_requests
from tests.support.waiting import soon, wait_for_script

pytestmark = needs_python


def test_a_link_with_a_program_shows_it_and_runs_nothing(site, visit):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.edit("x = mt.ones([7])\n# \u4f60\u597d <b>")
    seen.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    stage.press("Copy link to this")
    wait_for_script(seen.page, "location.hash.includes('/edit/')")
    address = seen.page.url
    other = visit(address, width=1440)
    found = Stage(other.page, other.page.locator("memory-stage").first)
    found.editor.wait_for()
    assert "".join(found.editor.locator(".cm-line").all_text_contents()) == "x = mt.ones([7])# \u4f60\u597d <b>"
    assert found.status == "This program came with the link. It has not run."
    assert python_requests(other) == []
    found.run()
    assert found.data["variants"][0]["code"][0] == "x = mt.ones([7])"
    assert other.foreign == [] and other.refused == []


def test_a_link_that_changes_only_a_policy_opens_the_program_of_that_policy(site, visit):
    seen = visit(f"{site}{THREE}.html", width=1440)
    number = seen.page.locator("memory-stage").evaluate_all(
        "stages => stages.findIndex(({ data }) => data.variants.length > 1)"
    )
    stage = Stage(seen.page, seen.page.locator("memory-stage").nth(number))
    stage.edit()
    opened = stage.element.evaluate("stage => stage.at.variant")
    other = 1 if opened == 0 else 0
    label = stage.data["variants"][other]["label"]
    stage.choose("Variant", label)
    stage.choose("Policy", "copy on write")
    seen.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    stage.press("Copy link to this")
    wait_for_script(seen.page, "location.hash.includes('/edit/')")
    page = visit(seen.page.url, width=1440).page
    found = Stage(page, page.locator("memory-stage").nth(number))
    found.editor.wait_for()
    chosen = "selects => selects.map(select => select.selectedOptions[0].textContent)"
    lists = found.element.locator(".live-program select")
    assert soon(lambda: lists.evaluate_all(chosen)[:2]) == [label, "copy on write"]


@pytest.mark.parametrize("tail", ["%00", "AAAA", "eJw", "a/b/c", "x" * 200_000])
def test_an_unreadable_link_is_reported_and_opens_no_editor(site, visit, tail):
    seen = visit(f"{site}{ALIASES}.html")
    name = seen.page.locator("memory-stage").first.get_attribute("id")
    seen.page.evaluate("hash => { location.hash = hash }", f"{name}/edit/{tail}")
    seen.page.locator("p.live-why").wait_for()
    assert "cannot be read: a part of the link is missing" in seen.page.locator("p.live-why").text_content()
    assert seen.page.locator(".cm-content").count() == 0 and seen.complaints == []
    seen.page.evaluate("hash => { location.hash = hash }", f"{name}/edit/")
    seen.page.locator("p.live-why").wait_for(state="detached")


def test_a_link_to_a_missing_stage_leads_to_the_playground(site, visit):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    program = "x = mt.ones([7])\nx.add_(1.0)"
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.edit(program)
    seen.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    stage.press("Copy link to this")
    wait_for_script(seen.page, "() => location.hash.includes('/edit/')")
    fragment = seen.page.url.partition("#")[2]
    for name in (f"{CONFUSIONS}.html#{fragment}", f"{ALIASES}.html#gone/edit/{fragment.rpartition('/')[2]}"):
        other = visit(site + name, width=1440)
        note = other.page.locator("p.live-why")
        note.wait_for()
        assert note.text_content().startswith("The stage that this link is for is not on this page.")
        assert other.page.locator(".cm-content").count() == 0 and other.complaints == []
    note.get_by_role("link", name="the playground").click()
    text = other.page.locator("play-ground .cm-content")
    text.wait_for()
    assert "\n".join(text.locator(".cm-line").all_text_contents()) == program
    assert python_requests(other) == [] and other.foreign == []


def test_a_link_may_contain_a_long_program_and_a_program_that_is_too_long_is_refused(site, visit):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    long = "x = mt.ones([2])\n" + "\n".join(
        f"# {number * 7919 % 99991:05} and {number * 104729:09}" for number in range(2_000)
    )
    assert len(long) > 40_000
    stage.edit(long)
    seen.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    stage.press("Copy link to this")
    wait_for_script(seen.page, "() => location.hash.includes('/edit/')")
    other = visit(seen.page.url, width=1440)
    found = Stage(other.page, other.page.locator("memory-stage").first)
    found.editor.wait_for()
    found.press("Close")
    assert soon(found.element.evaluate, "stage => stage.editing.programs[0].code") == long
    stage.write("# " + "long " * 30_000)
    stage.press("Copy link to this")
    wait_for_script(seen.page, "() => document.querySelector('.live-told').textContent.startsWith('This is too long')")
