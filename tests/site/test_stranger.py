"""Test that a new reader finds an answer from the first page with three clicks, or with one paste."""

from __future__ import annotations

import pytest

from tests.support.waiting import box_of

MOST_CLICKS = 3
# A question, the links that lead to its answer, and words of the answer that are then visible.
WAYS = {
    "does relu_ save memory in training?": (
        ["Memory ran out", "Fifteen confusions, 15"],
        "relu_ needs only its result, and holds nothing more.",
    ),
    "why does my numpy array change?": (
        ["A value changed by itself", "NumPy"],
        "numpy() shares the memory of the tensor. NumPy has no versions, so its write is not counted.",
    ),
    "what changed in Paddle 2.6?": (
        ["9. Version 2.6: automatic detection"],
        "exists, but it does less than its name promises.",
    ),
    "which errors are there?": (
        ["An error stopped you", "All recorded messages"],
        "a leaf Variable that requires grad is being used in an in-place operation.",
    ),
}
# The same in Chinese, where the answer is at most two clicks away from the first page of the edition.
MOST_CLICKS_IN_CHINESE = 2
WAYS_IN_CHINESE = {
    "叶子节点为什么不能写？": (["8. 叶子节点"], "原因在更新，不在梯度"),
    "2.6 检测什么？": (
        ["9. 2.6 版：自动检测"],
        "Paddle 从 2.6 版起检测：一个原位操作自己的梯度如果需要输入，就先复制输入。",
    ),
    "inplace 省显存吗？": (["显存不够用", "十五个困惑之 15"], "relu_ 只需要结果，不多占什么。"),
}


def clicks_to(seen, links, chapters, answer):
    """Follow links until an answer is on the page, and return the number of clicks.

    Args:
        chapters: the name of the button that shows the chapters on a phone.
    """
    clicks = 0
    for link in links:
        found = seen.page.get_by_role("link", name=link).first
        if not found.is_visible():  # on a phone the chapters are behind a button
            seen.page.get_by_role("button", name=chapters).click()
            clicks += 1
        found.click()
        clicks += 1
    seen.page.locator("article", has_text=answer).wait_for()
    return clicks


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("question", WAYS)
def test_a_few_clicks_lead_to_the_answer(site, visit, question, width):
    seen = visit(f"{site}index.html", width=width)
    links, answer = WAYS[question]
    assert clicks_to(seen, links, "Chapters", answer) <= MOST_CLICKS


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("question", WAYS_IN_CHINESE)
def test_two_clicks_lead_to_the_answer_in_chinese(site, visit, question, width):
    seen = visit(f"{site}zh/index.html", width=width)
    links, answer = WAYS_IN_CHINESE[question]
    assert clicks_to(seen, links, "目录", answer) <= MOST_CLICKS_IN_CHINESE


def test_one_paste_and_one_click_lead_to_the_meaning_of_the_leaf_error(site, visit):
    seen = visit(f"{site}index.html", width=390)
    door = seen.page.get_by_label("Paste your error")
    door.fill("RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.")
    seen.page.get_by_role("link", name="A write into a leaf").first.click()
    seen.page.wait_for_url("**/chapters/08_leaves.html#the-error")
    assert box_of(seen.page.locator("#the-error"))["y"] < 400
