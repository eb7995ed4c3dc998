"""Test the server's policy: a page may use its own files and no other host. `test_pages.py` tests each page."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from tests.support.waiting import soon
from tools import live


def sources_of(policy: str) -> dict[str, list[str]]:
    """Map each directive of a policy to its sources."""
    return {name: sources for name, *sources in (directive.split() for directive in policy.split(";"))}


def test_the_server_sends_a_policy_that_forbids_inline_scripts(site):
    with urllib.request.urlopen(f"{site}index.html") as answer:
        policy = sources_of(answer.headers["Content-Security-Policy"])
    assert policy["default-src"] == policy["connect-src"] == ["'self'"]
    assert policy["script-src"] == ["'self'"] + ["'wasm-unsafe-eval'"] * live.is_requested()
    assert policy.get("worker-src") == (["'self'"] if live.is_requested() else None)
    assert policy["style-src"] == ["'self'", "'unsafe-inline'"]
    assert policy["img-src"] == policy["font-src"] == ["'self'", "data:"]


def test_the_browser_enforces_the_policy(site, visit, tmp_path, serve_folder):
    (tmp_path / "index.html").write_text("<p id=told>no</p><script>told.textContent = 'yes'</script>")
    seen = visit(f"{serve_folder(tmp_path)}index.html")
    assert seen.page.locator("#told").text_content() == "no"
    assert len(seen.complaints) == len(seen.refused) == 1
    assert seen.refused[0].startswith("script-src-elem inline")


def test_a_wrong_address_gets_the_books_own_page(site, visit):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{site}chapters/nowhere.html")
    assert refused.value.code == 404
    page = visit(f"{site}404.html").page
    page.goto(f"{site}chapters/deeper/nowhere.html")
    assert page.locator("h1").text_content() == "No page here"
    page.get_by_role("main").get_by_role("link", name="front page").click()
    assert soon(lambda: page.url) == f"{site}index.html"
