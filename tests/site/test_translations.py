"""Test the built pages in other languages: the switch, the anchors, the words, the search and the look."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import expect

from _ext.book_pages.description import alternates
from _ext.book_pages.languages import editions
from _ext.book_pages.terms import anchor, forms, glossary
from _ext.book_pages.translated import Version
from book_kit.tables.table_words import translated
from tests.support.chapters.chapter import ROOT, pages
from tests.support.waiting import soon

EDITIONS = editions(ROOT)
TRANSLATED = [f"{edition.code}/{page}" for edition in EDITIONS for page in edition.pages()]
GLOSSARY = glossary(ROOT)
#: Maps the anchor of a term to the Chinese title of the links to it.
MEANINGS = {anchor(term): translated(term["meaning"], "zh").replace("`", "") for term in GLOSSARY}
SECTION = re.compile(r'<section[^>]* id="([^"]+)"')
LANGUAGE = re.compile(r'<html lang="([^"]+)"')
ALTERNATE = re.compile(r'<a lang="[^"]+" hreflang="([^"]+)" href="([^"]+)"')
#: Parts of a page that stay English: code, sources, and texts that are marked as English.
MAY_STAY = "pre, code, .citation-list, [role=doc-bibliography], [lang=en], .in-english, script, style, .mt-claims"
#: Six English words in a row are a sentence, not a name.
SENTENCE = re.compile(r"(?:\b[A-Za-z][a-z'’]*[ ,;:]+){5,}[A-Za-z][a-z'’]*")
#: Three English words in a row are a label or a title, not a name.
WORDS = re.compile(r"(?<![\w.`])(?:(?:[A-Za-z][a-z'’]+|a)[ ,;:]+){2,}[A-Za-z][a-z'’]+")
#: Longer names, which may stay English.
NAMES = {"SIL Open Font License"}
#: Keys in the data of a stage or a figure. Their values are code, names, or messages that a program raised.
NOT_SHOWN = {
    "code", "do", "id", "schema", "depth", "device", "compare", "opens", "policy", "phase", "names", "name", "kind",
    "dtype", "dtypes", "values", "out", "op", "ops", "profile", "events", "batchName", "outside",
}  # fmt: skip
#: Attributes that a reader sees or hears.
SPOKEN = ("aria-label", "aria-description", "title", "alt", "placeholder", "data-label", "data-variant", "data-stage")
HAN = re.compile("[一-鿿]")
#: Matches the first line of a message in an output.
MESSAGE = re.compile(r"\b[A-Z]\w*(?:Error|Warning|Exception)\b|^minitensor: |^ *--> |^ *The ranks do not agree")
#: Recorded messages of frameworks, which a translation quotes as they are.
MESSAGES = " ".join(
    (ROOT / "facts" / name).read_text(encoding="utf-8").replace("\\n", " ")
    for name in ("messages.json", "anomaly.json", "leaves.json", "view-gradients.json")
)

#: Search texts, and the page with the section that has to be the first result.
QUESTIONS = {
    "zh": {
        "叶子节点为什么不能写": "chapters/08_leaves",
        "Paddle 2.6 检测什么": "chapters/09_automatic_detection",
        "del 之后显存没有释放": "chapters/01_what_a_tensor_is",
        "id 相同说明什么": "chapters/01_what_a_tensor_is",
        "data_ptr": "chapters/01_what_a_tensor_is",
        "x += y 在 Paddle 里": "chapters/02_three_kinds_of_operation",
        "reshape 什么时候复制": "chapters/03_views",
        "分配器碎片": "chapters/06_the_allocator",
        "反向需要哪些张量": "chapters/07_what_backward_needs",
        "报错 没说是哪个张量被改了": "chapters/07_what_backward_needs",
        "视图的梯度": "chapters/10_views_meet_gradients",
        "detach 和 clone 的区别": "chapters/11_clone_and_detach",
        "下载 notebook 怎么运行": "index",
        "怎么运行 notebook": "index",
        "inplace 省显存吗": "index",
        "每一个原位操作的代价": "chapters/A_every_in_place_operation",
        "109 个原位操作": "chapters/A_every_in_place_operation",
        "PyTorch 没有负步长": "chapters/B_error_index",
        "同名而含义不同": "chapters/C_names",
        "PyTorch 漏掉什么": "chapters/C_names",
        "文章的勘误": "chapters/D_errata",
        "术语表": "chapters/E_glossary",
        "参考资料": "chapters/F_references",
    }
}


def text(book: Path, page: str) -> str:
    return (book / f"{page}.html").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Parsed:
    """A page that several tests read. A test that removes parts of ``content`` copies it first."""

    name: str
    content: BeautifulSoup


@pytest.fixture(scope="module")
def parsed(request: pytest.FixtureRequest, book: Path) -> Parsed:
    return Parsed(request.param, BeautifulSoup(text(book, request.param), "html.parser"))


each_parsed = pytest.mark.parametrize("parsed", TRANSLATED, indirect=True)


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_page_has_the_anchors_of_the_english_page(book, page):
    """An outdated page is skipped: it has the anchors of the English page from which it was translated."""
    code, _, english = page.partition("/")
    edition = next(edition for edition in EDITIONS if edition.code == code)
    if not edition.changed(english):
        assert SECTION.findall(text(book, page)) == SECTION.findall(text(book, english))


def steps_of_marks(shown: BeautifulSoup) -> list[tuple[str, str]]:
    return [(mark["data-variant"], mark["data-step"]) for mark in shown.select(".step-mark[data-stage]")]


@each_parsed
def test_a_mark_leads_to_the_program_and_the_step_of_the_english_mark(book, parsed):
    """The labels of programs are translated, so the sources do not show that a mark names the right one."""
    code, _, english = parsed.name.partition("/")
    edition = next(edition for edition in EDITIONS if edition.code == code)
    if not edition.changed(english):
        shown = BeautifulSoup(text(book, english), "html.parser")
        assert steps_of_marks(parsed.content) == steps_of_marks(shown)


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_page_and_the_english_page_name_each_other_and_their_languages(book, page):
    code, _, english = page.partition("/")
    tag = next(edition.settings["tag"] for edition in EDITIONS if edition.code == code)
    for own, language, other, other_language in ((page, tag, english, "en"), (english, "en", page, tag)):
        assert LANGUAGE.search(text(book, own))[1] == language
        addresses = dict(ALTERNATE.findall(text(book, own)))
        assert (book / f"{own}.html").parent.joinpath(addresses[other_language]).resolve() == book / f"{other}.html"


def test_a_page_names_its_absolute_addresses_in_all_languages_to_search_engines():
    chinese = Version("zh-CN", "中文", "../zh/chapters/a.html")
    english = Version("en", "English", "../../chapters/a.html")
    link = '<link rel="alternate" hreflang="{}" href="https://example.org/book/{}">'
    both = {link.format("en", "chapters/a.html"), link.format("zh-CN", "zh/chapters/a.html")}
    assert set(alternates("https://example.org/book/chapters/a.html", "en", [chinese])) == both
    assert set(alternates("https://example.org/book/zh/chapters/a.html", "zh-CN", [english])) == both
    missing = Version("zh-CN", "中文", "../zh/index.html", "not translated")
    assert alternates("https://example.org/book/chapters/a.html", "en", [missing]) == []


def test_a_book_without_an_address_names_no_alternate(book):
    """Search engines report an alternate with a relative address as a fault."""
    assert 'rel="alternate"' not in text(book, "index")


def test_only_pages_in_another_language_load_the_words_of_their_stages_and_figures(book):
    for edition in EDITIONS:
        for page in edition.pages():
            with_words = f"{edition.code}/{page}"
            assert "_static/words.js" not in text(book, page)
            shown = text(book, with_words)
            scripts = re.findall(r"_static/(words|stage|figures)\.js", shown)
            drawn = [name for name in ("stage", "figures") if f"<memory-{name.rstrip('s')}" in shown]
            assert scripts[:1] == (["words"] if drawn else []) and sorted(scripts[1:]) == sorted(drawn), page


def test_the_controls_of_a_stage_are_in_the_language_of_the_page(visit, site):
    for edition in EDITIONS:
        page = visit(f"{site}{edition.code}/chapters/02_three_kinds_of_operation.html").page
        words = json.loads((ROOT / "memory_stage/web/js/shared/words.json").read_text("utf-8"))[edition.code]
        expect(page.locator("memory-stage .deeper").first).to_have_text(words["Details"])


def test_an_english_page_without_a_translation_leads_to_the_first_page_with_a_note(book):
    for edition in EDITIONS:
        for page in set(pages()) - set(edition.pages()):
            shown = BeautifulSoup(text(book, page), "html.parser").select_one("#chapters .languages")
            assert edition.settings["not_translated"] in shown.get_text()
            assert shown.a["href"].endswith(f"{edition.code}/index.html")


def is_allowed(sentence: str) -> bool:
    return sentence.replace("’", "'") in MESSAGES or any(name in sentence for name in NAMES)


def english_left(shown: BeautifulSoup | Tag) -> list[str]:
    """Return the English sentences of a page or a part of it, after removing the parts that may stay English."""
    for part in shown.select(MAY_STAY):
        part.decompose()
    found = [left.group() for line in shown.get_text("\n").splitlines() for left in SENTENCE.finditer(line)]
    return [sentence for sentence in found if not is_allowed(sentence)]


def texts_in(data: object, key: str = "") -> Iterator[str]:
    """Yield the texts of embedded data that a reader sees."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for each in data:
            yield from texts_in(each, key)
    elif isinstance(data, dict):
        for name, each in data.items():
            if name not in NOT_SHOWN:
                yield from texts_in(each, name)


def words_left(texts: Iterable[str]) -> list[str]:
    """Return the texts without a Chinese character that have three English words in a row, outside of code."""
    without_code = (re.sub("`[^`]*`", " ", text) for text in texts)
    return [text for text in without_code if WORDS.search(text) and not HAN.search(text) and not is_allowed(text)]


def sentences_left(texts: Iterable[str]) -> list[str]:
    """Return the English sentences in texts, outside of code; they may have Chinese neighbours."""
    found = (left.group() for text in texts for left in SENTENCE.finditer(re.sub("`[^`]*`", " ", text)))
    return [sentence for sentence in found if not is_allowed(sentence)]


@each_parsed
def test_no_english_sentence_is_left_in_the_text_and_the_questions_of_a_page(parsed):
    shown = copy(parsed.content)
    questions = [english_left(question.extract()) for question in shown.select("predict-first")]
    assert [left for left in questions if left] == []
    for output in shown.select(".cell_output"):
        output.decompose()
    assert english_left(shown) == []


@each_parsed
def test_no_english_words_are_left_in_the_data_of_the_stages_figures_and_questions_of_a_page(parsed):
    shown = parsed.content
    embedded = [script.string for script in shown.select("memory-stage > script, memory-figure > script")]
    embedded += [question["data-words"] for question in shown.select("[data-words]")]
    assert len(embedded) >= len(shown.select("memory-stage, memory-figure"))
    said = [text for each in embedded for text in texts_in(translations_only(json.loads(each)))]
    assert (words_left(said), sentences_left(said)) == ([], [])


def translations_only(data: dict[str, object]) -> object:
    """Return the translations in a map from English words. Other data is returned unchanged."""
    return list(data.values()) if all(isinstance(value, str) for value in data.values()) else data


@each_parsed
def test_no_english_words_are_left_in_attributes_and_drawings_of_a_page(parsed):
    """Browsers show or read out these texts. Titles of sources stay as their authors wrote them."""
    shown = copy(parsed.content)
    for part in shown.select(
        "a[href^='#id'][title], a[title*='URL: '], a[title*='doi:'], .citation-list, [lang=en], .in-english"
    ):
        part.decompose()
    said = [tag[name] for name in SPOKEN for tag in shown.select(f"[{name}]")]
    said += [tag["content"] for tag in shown.select("meta[name=description], meta[property^=og]")]
    said += [tag.get_text() for tag in shown.select("svg text, svg title, svg desc")]
    assert len(said) > 10
    assert (words_left(said), sentences_left(said)) == ([], [])


@each_parsed
def test_no_english_sentence_is_left_in_the_outputs_of_a_page(parsed):
    """The outputs are figures, tables, and what programs print. A message that a program raised stays as it is."""
    shown = copy(parsed.content)
    for code in shown.select(".cell_output code, .cell_output .mt-diff, .cell_output script"):
        code.decompose()
    printed = [block.get_text() for block in shown.select(".cell_output pre")]
    said = [line for block in printed for line in without_messages(block).splitlines()]
    left = {sentence for output in shown.select(".cell_output") for sentence in english_left(output)}
    assert (sentences_left(said), left) == ([], set())


def without_messages(printed: str) -> str:
    """Remove messages of exceptions, warnings and minitensor from printed text. A message ends at an empty line."""
    lines, kept = printed.splitlines(), []
    for number, line in enumerate(lines):
        if MESSAGE.search(line):
            following = "\n".join(lines[number:])
            _, _, rest = following.partition("\n\n")
            return "\n".join([*kept, without_messages(rest)])
        kept.append(line)
    return "\n".join(kept)


@pytest.mark.parametrize(
    ("markup", "left"),
    [
        ('<memory-stage><script>{"variants": [{"label": "a write through a view"}]}</script></memory-stage>', True),
        ('<memory-stage><script>{"variants": [{"code": ["for x in the list"]}]}</script></memory-stage>', False),
        ('<memory-stage><script>{"title": "写入 x"}</script></memory-stage>', False),
        ('<p aria-label="time of a step"></p>', True),
        ('<p aria-label="一步的时间"></p>', False),
        ("<svg><text>the first of them</text></svg>", True),
        ("<svg><text>x.reshape([2, 6])</text></svg>", False),
    ],
)
def test_english_words_in_data_attributes_and_drawings_are_found(markup, left):
    shown = BeautifulSoup(markup, "html.parser")
    said = [text for script in shown.select("script") for text in texts_in(json.loads(script.string))]
    said += [tag[name] for name in SPOKEN for tag in shown.select(f"[{name}]")]
    said += [tag.get_text() for tag in shown.select("svg text")]
    assert bool(words_left(said)) == left


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_page_has_no_errors_and_is_accessible_in_light_and_dark_and_fits_a_phone(visit, site, page):
    seen = visit(f"{site}{page}.html")
    seen.read_through()
    assert seen.undisturbed
    assert seen.overflow() == 0
    assert seen.violations() == []
    seen.page.emulate_media(color_scheme="dark")
    seen.page.locator("html[data-theme=dark]").wait_for(state="attached")
    assert seen.violations(all_else=False) == []
    seen.resize(390, 844)
    assert soon(seen.overflow) == 0


@each_parsed
def test_a_term_leads_once_to_the_glossary_of_its_language(book, parsed):
    links = parsed.content.select("article a.term")
    assert len({link["href"] for link in links}) == len(links)
    for link in links:
        address, _, place = link["href"].partition("#")
        glossary = (book / f"{parsed.name}.html").parent.joinpath(address).resolve()
        assert glossary == book / parsed.name.partition("/")[0] / "chapters" / "E_glossary.html"
        assert f'id="{place}"' in glossary.read_text(encoding="utf-8")
        assert link["title"] == MEANINGS[place]


def test_the_pages_of_an_edition_link_every_term_that_has_forms_in_its_language(book):
    for edition in EDITIONS:
        pages = [BeautifulSoup(text(book, f"{edition.code}/{page}"), "html.parser") for page in edition.pages()]
        linked = {link["href"].partition("#")[2] for shown in pages for link in shown.select("a.term")}
        assert {anchor(term) for term in GLOSSARY if len(forms(term, edition.code)) > 0} == linked


def test_the_switch_of_languages_leads_to_the_same_section(visit, site):
    page = f"{EDITIONS[0].code}/chapters/01_what_a_tensor_is"
    seen = visit(f"{site}{page}.html#on-a-gpu", width=1400)
    seen.page.locator("#chapters .languages a").first.click()
    seen.page.wait_for_url("**/01_what_a_tensor_is.html#on-a-gpu")
    assert seen.page.locator("html").get_attribute("lang") == "en"
    expect(seen.page.locator("#on-a-gpu")).to_be_in_viewport()
    seen.page.locator("#chapters .languages a").first.click()
    seen.page.wait_for_url(f"**/{page}.html#on-a-gpu")


@pytest.mark.parametrize(
    ("code", "query", "page"),
    [(code, query, page) for code, queries in QUESTIONS.items() for query, page in queries.items()],
)
def test_the_first_result_of_a_chinese_search_is_on_the_expected_page(visit, site, code, query, page):
    seen = visit(f"{site}{code}/search.html?q={query}")
    first = seen.page.locator(".hits > li > a").first
    expect(first).to_be_visible()
    assert first.get_attribute("href").startswith(f"{page}.html")
    assert seen.page.locator(".hits mark").count() > 0


def test_the_error_door_explains_an_english_message_in_the_language_of_the_page(visit, site):
    seen = visit(f"{site}{TRANSLATED[0]}.html")
    seen.page.fill("#pasted-error", "a leaf Variable that requires grad is being used in an in-place operation")
    expect(seen.page.locator("error-door .told")).to_have_text(re.compile("[一-鿿]"))
    cause = seen.page.locator("error-door .cause a").first
    expect(cause).to_be_visible()
    assert (seen.page.request.get(cause.evaluate("link => link.href"))).ok
