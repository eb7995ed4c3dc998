"""Test that answers are computed and stages recorded again for a class with PyTorch's names.

The tests use a chapter with a question and two stages.
"""

from __future__ import annotations

import json

import pytest

from _ext.book_pages.built_page import BuiltPage
from _ext.book_pages.class_vocabulary import VOCABULARY, in_other_names

# In Paddle `y += 1.0` makes a new tensor, and in PyTorch it writes, so another option is right.
CHAPTER = """---
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# 1. Adding

```{code-cell} ipython3
%load_ext book_kit
import minitensor as mt
from book_kit import predict, stage

stage.set_depth("memory")


def x_at_the_end():
    x = mt.zeros([1])
    y = x
    y += 1.0
    return x.tolist()
```

```{code-cell} ipython3
raise RuntimeError("a cell that nothing needs")
```

```{code-cell} ipython3
predict(
    "`x = mt.zeros([1])\\ny = x\\ny += 1.0`\\nWhat is in `x`?",
    {"`[0.0]`": "The name moves.", "`[1.0]`": "The line writes."},
    str(x_at_the_end()),
)
```

```{code-cell} ipython3
%%stage --title "It adds" --ask "Which cells?"
x = mt.zeros([1])
y = x
y += 1.0
```

```{code-cell} ipython3
stage.compare({"scale_": "x = mt.ones([2])\\nx.scale_(2.0)"}, title="It scales")
```
"""
SHOW = [{"question": "What is in x?"}, {"stage": "It adds"}, {"stage": "It scales"}]
PAGE = (
    '<article><h1>1. Adding</h1><p><span class="step-mark">line 2</span> <code><span>x.scale_(</span><span>2.0)</span>'
    "</code> doubles.</p><p><strong>1. Fill.</strong> Write.</p>"
    '<div class="highlight"><pre>mt.zeros([1]).scale_(2.0)</pre></div></article>'
)
PAIRS = [["mt.zeros(", "torch.zeros("], ["mt.ones(", "torch.ones("], ["scale_", "mul_"]]


@pytest.fixture
def make(tmp_path):
    """Return a function that makes the class from a chapter and pairs of names."""

    def of(chapter=CHAPTER, replace=PAIRS, own=(), show=SHOW):
        for folder in ("book", "chapters"):
            (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / "chapters/01_a.md").write_text(chapter, encoding="utf-8")
        pairs = {"replace": replace, "pages": {"chapters/01_a": list(own)}}
        (tmp_path / VOCABULARY).write_text(json.dumps(pairs), encoding="utf-8")
        plan = {"parts": [{"page": "chapters/01_a", "show": show}], "remember": {"pages": ["chapters/01_a"]}}
        book = {"chapters/01_a": BuiltPage("chapters/01_a", PAGE)}
        return in_other_names(plan, book, tmp_path)

    return of


def test_answers_are_computed_and_stages_recorded_again(make):
    plan, pages = make()
    page = pages["chapters/01_a"]
    question = page.question("What is in x?")
    assert question.select_one(".mt-answer").get_text() == "[1.0]"
    assert "torch.zeros([1])" in question.select_one(".mt-question").get_text()
    adds = json.loads(page.stage("It adds").script.string)
    assert adds["variants"][0]["code"] == ["x = torch.zeros([1])", "y = x", "y += 1.0"]
    assert "`add_` writes" in adds["variants"][0]["steps"][2]["say"]
    assert adds["ask"] == "Which cells?"
    (scales,) = json.loads(page.stage("It scales").script.string)["variants"]
    assert (scales["label"], scales["code"]) == ("mul_", ["x = torch.ones([2])", "x.mul_(2.0)"])
    assert plan["parts"][0]["show"] == SHOW


def test_quoted_text_and_code_have_pytorchs_names(make):
    page = make()[1]["chapters/01_a"]
    assert "line 2 x.mul_(2.0) doubles." in page.body.get_text()
    assert page.exercise("Fill").pre.get_text() == "torch.zeros([1]).mul_(2.0)"


def test_a_text_that_is_found_nowhere_is_an_error(make):
    with pytest.raises(Exception, match=r"found nowhere: \['gone_'\]"):
        make(replace=[*PAIRS, ["gone_", "left_"]])
    with pytest.raises(Exception, match=r"found nowhere: \['gone_'\]"):
        make(own=[["gone_", "left_"]])


def test_a_question_and_a_stage_that_no_cell_makes_are_errors(make):
    with pytest.raises(Exception, match="no cells make the question 'Why not'"):
        make(show=[{"question": "Why not"}])
    with pytest.raises(Exception, match="no cells make the stage 'It divides'"):
        make(show=[{"stage": "It divides"}])


def test_an_answer_that_is_none_of_the_options_is_an_error(make):
    with pytest.raises(Exception, match=r"the answer '\[1.0\]' is none of the options"):
        make(CHAPTER.replace('"`[1.0]`"', '"`[2.0]`"'))
