"""Test that a pasted error and a searched question lead to the place that explains them."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.support.site.words import said
from tests.support.waiting import soon
from tools.build import ROOT

MESSAGES = json.loads((ROOT / "facts" / "messages.json").read_text(encoding="utf-8"))
CAUSES = json.loads((ROOT / "book" / "causes.json").read_text(encoding="utf-8"))
GLOSSARY = json.loads((ROOT / "book" / "glossary.json").read_text(encoding="utf-8"))
RECORDED = [entry for record in MESSAGES.values() for entry in record["messages"]]

TRACEBACK = """Traceback (most recent call last):
  File "/home/somebody/project/train.py", line 212, in <module>
    main(sys.argv[1:])
  File "/home/somebody/project/train.py", line 145, in main
    {line}
  File "/usr/lib/python3/site-packages/torch/_tensor.py", line 648, in backward
    torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)
{message}
"""
# Texts that a reader pastes, and the page and place that explain each. Users reported them, or a library prints them
# with other numbers and names. The book's records do not contain them in this form.
PASTED = {
    "whole": (
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
        "chapters/08_leaves.html#the-error",
    ),
    "without its end": (
        "a leaf Variable that requires grad is being used in an in-place",
        "chapters/08_leaves.html#the-error",
    ),
    "in a traceback, with other numbers": (
        TRACEBACK.format(
            line="loss.backward()",
            message="RuntimeError: one of the variables needed for gradient computation has been modified by an "
            "inplace operation: [torch.cuda.HalfTensor [64, 512, 7, 7]], which is output 0 of ReluBackward0, is at "
            "version 17; expected version 16 instead. Hint: enable anomaly detection to find the operation that failed "
            "to compute its gradient, with torch.autograd.set_detect_anomaly(True).",
        ),
        "chapters/07_what_backward_needs.html#which-line-was-it",
    ),
    "from the middle": (
        "has been modified by an inplace operation. Its version is 4 but the expected version is 2",
        "chapters/07_what_backward_needs.html#which-line-was-it",
    ),
    "from Paddle, with a parameter's name": (
        "ValueError: (InvalidArgument) Leaf Var (linear_3.w_0) that doesn't stop gradient can't use inplace strategy.\n"
        "  [Hint: Expected !autograd_meta->StopGradient() && IsLeafTensor(target) == false, but received "
        "!autograd_meta->StopGradient() && IsLeafTensor(target):1 != false:0.] (at ../paddle/fluid/eager/utils.h:181)",
        "chapters/08_leaves.html#the-error",
    ),
    "about a GPU's memory": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.78 GiB. GPU 0 has a total capacity of 31.47 "
        "GiB of which 12.73 GiB is free. Including non-PyTorch memory, this process has 18.73 GiB memory in use.",
        "chapters/fifteen_confusions.html#where-did-my-memory-go",
    ),
    "about NumPy's memory": (
        "numpy.core._exceptions.MemoryError: Unable to allocate 31.9 GiB for an array with shape (3094, 720, 1280, 3) "
        "and data type float32",
        "chapters/fifteen_confusions.html#where-did-my-memory-go",
    ),
    "about a view": (
        "view size is not compatible with input tensor's size and stride",
        "chapters/fifteen_confusions.html#reshape-a-view-or-a-copy",
    ),
    "from NumPy, short": ("ValueError: assignment destination is read-only", "one-cell-seen-many-times"),
    "about an overlap": (
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation.",
        "chapters/04_aliases.html#reading-what-is-being-overwritten",
    ),
    "about several views": (
        "RuntimeError: Output 1 of UnbindBackward0 is a view and is being modified inplace.",
        "chapters/fifteen_confusions.html#a-write-into-a-part-of-split",
    ),
    "about a second backward": (
        TRACEBACK.format(
            line="loss_g.backward()",
            message="RuntimeError: Trying to backward through the graph a second time, but the saved intermediate "
            "results have already been freed. Specify retain_graph=True when calling .backward() or "
            "autograd.grad() the first time.",
        ),
        "chapters/08_leaves.html#an-update-that-comes-too-early",
    ),
    "about several ranks, its first words": (
        "Expected to have finished reduction in the prior iteration",
        "chapters/14_many_ranks.html#equal-to-one-process",
    ),
    "about memory, in four words": ("CUDA out of memory", "chapters/fifteen_confusions.html#where-did-my-memory-go"),
    "about memory, in three words": ("out of memory", "chapters/fifteen_confusions.html#where-did-my-memory-go"),
    "about memory, abbreviated": ("OOM", "chapters/fifteen_confusions.html#where-did-my-memory-go"),
    "about a gradient that is None": (
        "AttributeError: 'NoneType' object has no attribute 'zero_'",
        "chapters/08_leaves.html#what-a-leaf-is",
    ),
    "about a gradient that is None, another attribute": (
        "'NoneType' object has no attribute 'norm'",
        "chapters/08_leaves.html#what-a-leaf-is",
    ),
    "about memory, in Chinese": ("显存不足", "chapters/fifteen_confusions.html#where-did-my-memory-go"),
    "only its end": ("version 1; expected version 0", "chapters/07_what_backward_needs.html#which-line-was-it"),
    "about a second backward, as a reader remembers it": (
        "backward a second time",
        "chapters/08_leaves.html#an-update-that-comes-too-early",
    ),
}
NOT_OURS = [
    "ModuleNotFoundError: No module named 'torchvision'",
    "KeyError: 'labels'",
    "AttributeError: 'Tensor' object has no attribute 'iloc'",
    "version counter",
    "my loss is nan after ten steps, what should I do?",
    "is a slice a view or a copy",
    "does backward free the graph",
    "what is a leaf variable",
    TRACEBACK.format(line="model.fit(data)", message="TypeError: fit() missing 1 required positional argument: 'y'"),
]


@pytest.fixture(scope="module")
def tab(browser):
    """Return one tab of the browser for tests that store nothing in it."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def door(tab, site):
    """Return the error door, the form for a pasted error, on the first page."""
    if tab.url != f"{site}index.html":
        tab.goto(f"{site}index.html")
    return tab.locator("error-door")


def paste(door, text: str) -> list[str]:
    """Paste a text and return the addresses of the offered places, the likeliest first."""
    for pasted in ("", text):  # the first clears an earlier answer
        door.get_by_label("Paste your error").fill(pasted)
        door.get_by_role("button", name="Find it").click()
        expect(door.locator(".told")).to_have_text(re.compile(".") if pasted else "")
    return door.locator(".cause-title a").evaluate_all("links => links.map(link => link.href)")


# ---- messages --------------------------------------------------------------------------------------------------------


def test_every_message_has_a_cause_and_every_cause_a_message():
    assert {entry["cause"] for entry in RECORDED} == set(CAUSES)
    assert len(RECORDED) >= 40
    assert {record.get("library") for record in MESSAGES.values()} >= {"torch", "paddle", "numpy", "minitensor"}


def test_every_message_has_a_program_and_names_its_source():
    for record in MESSAGES.values():
        for entry in record["messages"]:
            assert entry["program"]
            assert "version" in record or entry["source"].startswith("https://github.com/")


def test_every_cause_leads_to_a_place_that_exists(book):
    for cause in CAUSES.values():
        page = (book / f"{cause['page']}.html").read_text(encoding="utf-8")
        assert f'id="{cause["place"]}"' in page, cause


def test_every_cause_has_its_section_in_the_error_index(door):
    """The error door links to this section by its title."""
    index = door.page.evaluate("Object.values(bookMessages.causes).map(({ title, index }) => [title, index])")
    assert [title for title, _ in index] == [cause["title"] for cause in CAUSES.values()]
    seen = door.page.context.new_page()
    seen.goto(door.page.url.replace("index.html", "chapters/B_error_index.html"))
    reported = seen.locator("section > h3").evaluate_all(
        "all => all.map(head => [head.parentElement.id, head.innerText])"
    )
    headings = {place: re.sub("[#¶]", "", text).replace("’", "'").strip() for place, text in reported}
    seen.close()
    assert headings == {place: title.replace("`", "") for title, place in index}


# Functions from a message to the text that a reader pastes: for example the whole message, or only its beginning.


def first_half(message: str) -> str:
    """Return the first half of a message, or the whole message if it has at most eight words."""
    words = message.split()
    return message if len(words) <= 8 else " ".join(words[: (len(words) + 1) // 2])


def under_a_traceback(message: str) -> str:
    return TRACEBACK.format(line="step(batch)", message=message)


def with_other_numbers(message: str) -> str:
    return re.sub(r"\d+", lambda number: str(int(number.group()[:9]) + 3), message)


PARTS = [str, first_half, under_a_traceback, with_other_numbers]


@pytest.mark.parametrize("part", PARTS, ids=["whole", "first half", "under a traceback", "with other numbers"])
def test_every_recorded_message_leads_to_its_cause(door, part):
    found = door.page.evaluate(
        "messages => messages.map(message => bookErrorDoor.causesOf(message)[0]?.cause)",
        [part(entry["message"]) for entry in RECORDED],
    )
    asked = [(part(entry["message"]), entry["cause"]) for entry in RECORDED]
    assert [(text, cause) for (text, cause), got in zip(asked, found, strict=True) if got != cause] == []


def test_the_error_door_links_to_the_programs_in_the_error_index(door):
    paste(door, "assignment destination is read-only")
    address = door.get_by_role("link", name="appendix B").get_attribute("href")
    assert address.endswith("chapters/B_error_index.html#the-array-is-read-only")


@pytest.mark.parametrize("how", PASTED)
def test_a_pasted_error_leads_to_its_place(door, how):
    text, place = PASTED[how]
    assert place in paste(door, text)[0]


@pytest.mark.parametrize("text", NOT_OURS)
def test_any_other_text_leads_to_the_search(door, text):
    assert paste(door, text) == []
    assert soon(door.get_by_role("link", name="Search the book").is_visible)


def test_pasted_text_never_becomes_markup_and_is_never_sent(site, visit):
    seen = visit(f"{site}index.html")
    before = len(seen.finished)
    paste(
        seen.page.locator("error-door"), "<img src=x onerror=document.title='run'> assignment destination is read-only"
    )
    assert seen.page.locator("error-door img").count() == 0
    assert [request.url for request in seen.finished[before:]] == [] and seen.complaints == []


@pytest.mark.parametrize(
    ("edition", "scheme", "title"),
    [("", "light", "The array is read-only"), ("", "dark", "The array is read-only"), ("zh", "dark", "数组是只读的")],
)
def test_the_door_works_by_keyboard_and_with_a_screen_reader_and_axe_finds_nothing(site, visit, edition, scheme, title):
    seen = visit(f"{site}{edition and edition + '/'}chapters/your_error.html", width=360, scheme=scheme)
    door = seen.page.locator("error-door")
    door.get_by_label(said("Paste your error, whole or in part", edition)).focus()
    seen.page.keyboard.insert_text("assignment destination is read-only")
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")
    assert soon(door.get_by_role("status").inner_text) == said("One place explains it.", edition)
    assert soon(door.locator(".cause-title").inner_text) == title
    assert seen.violations() == [] and seen.overflow() == 0


@pytest.mark.parametrize(
    ("edition", "link"), [("", "All recorded messages"), ("zh", "所有收录的报错")], ids=["en", "zh"]
)
def test_without_scripts_the_messages_are_listed_by_cause(site, visit, edition, link):
    seen = visit(f"{site}{edition and edition + '/'}index.html", scripts=False)
    seen.page.get_by_role("link", name=link).click()
    seen.page.wait_for_url("**/B_error_index.html*")
    shown = seen.page.locator("article").inner_text().replace("’", "'")
    causes = json.loads((ROOT / edition / "book" / "causes.json").read_text(encoding="utf-8"))
    for cause in CAUSES:
        assert causes[cause]["title"].replace("`", "") in shown
    assert "assignment destination is read-only" in shown


# ---- the search ------------------------------------------------------------------------------------------------------

# Search texts, and pages that answer them.
ASKED = {
    "a leaf Variable that requires grad is being used in an in-place operation": {"08_leaves"},
    "one of the variables needed for gradient computation has been modified by an inplace operation": {
        "07_what_backward_needs",
        "09_automatic_detection",
    },
    "does relu_ save memory in training?": {
        "09_automatic_detection",
        "fifteen_confusions",
        "05_counting_bytes",
        "12_in_place_layers",
    },
    "why does my numpy array change?": {"fifteen_confusions", "04_aliases"},
    "what changed in Paddle 2.6?": {"09_automatic_detection"},
    "写时复制": {"09_automatic_detection"},
    "x += 1": {"02_three_kinds_of_operation", "fifteen_confusions"},
    "copy on write": {"09_automatic_detection"},
    "reshape: a copy or a view": {"03_views", "fifteen_confusions"},
    "tensor changed when I changed the other one": {"04_aliases"},
    "does inplace relu save memmory": {"12_in_place_layers", "09_automatic_detection"},  # codespell:ignore
    "version counter": {"09_automatic_detection"},
    "gradeint of a contigous veiw": {"10_views_meet_gradients", "03_views", "fifteen_confusions"},  # codespell:ignore
}


# Words that many chapters use, and a page that has to be among the first results.
WORDS = {
    "原位": {"02_three_kinds_of_operation", "09_automatic_detection"},
    "叶子": {"08_leaves"},
    "版本": {"09_automatic_detection"},
    "视图": {"03_views"},
    "梯度": {"08_leaves"},
    "显存": {"fifteen_confusions"},
    "leaf": {"08_leaves"},
}


def search(page, query: str) -> list[str]:
    """Return the addresses found for a query typed into the field beside the chapters."""
    field = page.locator("#chapters .bd-search input")
    field.fill(query)
    field.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    page.locator("#search-results .told").wait_for(state="attached")
    links = "#search-results :is(.cause-title, .hits) a"
    return page.locator(links).evaluate_all("links => links.map(link => link.getAttribute('href'))")


@pytest.mark.parametrize("query", ["OOM", "CUDA OOM", "out of memory", "内存不足", "显存溢出", "爆显存"])
def test_a_search_for_out_of_memory_finds_the_allocator_and_not_arrays(tab, site, query):
    tab.goto(f"{site}404.html")
    cause, *places = search(tab, query)
    assert cause.endswith("fifteen_confusions.html#where-did-my-memory-go")
    assert "06_the_allocator" in map(page_of, places[:3]) and "array" not in "".join(places[:3])


@pytest.mark.parametrize("query", ASKED)
def test_the_first_result_of_a_search_answers_the_question(tab, site, query):
    tab.goto(f"{site}404.html")
    assert page_of(search(tab, query)[0]) in ASKED[query]


def test_a_search_for_a_change_through_another_tensor_also_finds_what_a_tensor_is(tab, site):
    tab.goto(f"{site}404.html")
    found = [urlsplit(address) for address in search(tab, "tensor changed when I changed the other one")[:3]]
    place = ("chapters/01_what_a_tensor_is.html", "three-things-that-look-like-one")
    assert place in {(address.path, address.fragment) for address in found}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_in_english_or_chinese_finds_the_page_about_it(tab, site, word):
    tab.goto(f"{site}404.html")
    assert WORDS[word] & {page_of(address) for address in search(tab, word)[:6]}


def page_of(address: str) -> str:
    return PurePosixPath(urlsplit(address).path).stem


def test_an_excerpt_is_prose_with_the_searched_words_marked(site, visit):
    seen = visit(f"{site}index.html", width=1440)
    search(seen.page, "slice view shares storage")
    excerpts = seen.page.locator(".hits p").all_inner_texts()
    for text in excerpts:
        for not_prose in ("import ", "%%stage", "Show the set-up", "Download as notebook", "allocated 12 B"):
            assert not_prose not in text
    assert seen.page.locator(".hits mark").count() > 5


def test_the_searched_words_are_marked_on_the_found_page_until_escape(site, visit):
    seen = visit(f"{site}index.html", width=1440)
    search(seen.page, "clone detach history")
    seen.page.locator(".hits a").first.click()
    seen.page.wait_for_selector("article mark")
    marked = {text.lower() for text in seen.page.locator("article mark").all_inner_texts()}
    assert "detach" in marked and all(text.startswith(("clon", "detach", "histor")) for text in marked)
    assert seen.page.locator("memory-stage mark, pre mark").count() == 0
    seen.page.keyboard.press("Escape")
    assert soon(seen.page.locator("article mark").count) == 0


@pytest.mark.parametrize(
    "address, width, scheme",
    [
        ("search.html?q=modified+by+an+inplace+operation", 1280, "light"),
        ("search.html?q=modified+by+an+inplace+operation", 360, "dark"),
        ("zh/search.html?q=原位操作", 360, "light"),
    ],
)
def test_axe_finds_nothing_on_the_results(site, visit, address, width, scheme):
    seen = visit(f"{site}{address}", width=width, scheme=scheme)
    assert seen.page.locator(".hits li").count() > 0
    assert seen.violations() == [] and seen.overflow() == 0


def test_the_search_corrects_a_misspelled_word_and_reports_it(site, visit):
    seen = visit(f"{site}search.html?q=inplase+operaton")  # codespell:ignore
    assert seen.page.locator(".hits li").count() > 5
    reported = seen.page.get_by_role("status").inner_text()
    assert "no “inplase”; this is for “inplace”" in reported
    assert "no “operaton”; this is for “operation”" in reported  # codespell:ignore
    assert seen.page.locator(".hits mark").count() > 5


SPELLED = {
    "veiw": "view",  # two letters in another order, codespell:ignore
    "contigous": "contiguous",  # one is missing, codespell:ignore
    "memmory": "memory",  # one too many, codespell:ignore
    "tensor_version_counter": "tensor version counter",  # a name in somebody's program
}


def test_only_a_word_that_is_not_in_the_book_is_corrected(tab, site):
    tab.goto(f"{site}search.html")
    spelled = "queries => queries.map(query => bookSearch.spelled(query).text)"
    assert tab.evaluate(spelled, list(SPELLED)) == list(SPELLED.values())
    left = [*(term["name"] for term in GLOSSARY), *NAMED, "what changed in Paddle 2.6?", "pandas dataframe", "scatter_"]
    assert tab.evaluate(spelled, left) == left


def test_a_search_without_results_suggests_what_to_try(site, visit):
    seen = visit(f"{site}search.html?q=zyzzyva")
    assert "Try fewer or other words" in seen.page.locator("#search-results").inner_text()


@pytest.mark.parametrize(("page", "query"), [("search", "leaf"), ("zh/search", "叶子节点")])
def test_the_search_works_from_the_disk(book, visit, page, query):
    seen = visit(f"{(book / page).as_uri()}.html?q={query}")
    assert seen.page.locator(".hits li").count() > 3 and seen.complaints == []


def test_each_chinese_term_of_the_glossary_finds_the_place_that_teaches_it(tab, site):
    tab.goto(f"{site}404.html")
    assert search(tab, "步长")[0] == "chapters/01_what_a_tensor_is.html#how-a-tensor-finds-a-number"
    found = tab.evaluate("terms => terms.map(term => bookSearch.termFor(term)?.name)", [t["chinese"] for t in GLOSSARY])
    assert found == [term["name"] for term in GLOSSARY]
    forms = [(form, term["name"]) for term in GLOSSARY for form in term.get("chinese_forms", [])]
    found = tab.evaluate("forms => forms.map(form => bookSearch.termFor(form)?.name)", [form for form, _ in forms])
    assert found == [name for _, name in forms] and forms
    assert tab.locator("#search-results .cause").first.inner_text().startswith("strides 步长")


# A library's names for a term, as somebody types them.
NAMED = {
    "requires_grad": "stop_gradient",
    "x.requires_grad": "stop_gradient",
    "torch.no_grad()": "no_grad",
    "inplace_version": "version",
    "_version": "version",
    "grad_fn": "history",
    "is_leaf": "leaf",
    "max_memory_allocated": "peak",
    "clone": "clone",
}


def test_a_librarys_name_for_a_term_finds_the_term(tab, site):
    tab.goto(f"{site}search.html")
    found = tab.evaluate("names => names.map(name => bookSearch.termFor(name)?.name)", list(NAMED))
    assert dict(zip(NAMED, found, strict=True)) == NAMED


def test_a_search_without_a_term_of_the_glossary_shows_no_term(tab, site):
    tab.goto(f"{site}404.html")
    search(tab, "why does my numpy array change?")
    assert tab.locator("#search-results .cause").count() == 0
