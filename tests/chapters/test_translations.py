"""Translated pages have the blocks of the English ones: the same cells, code, links, marks and numbers."""

from __future__ import annotations

import io
import json
import re
import tokenize

import pytest

from _ext.book_pages import frame_words as words
from _ext.book_pages.languages import SETTINGS, Edition, editions
from _ext.book_pages.source_blocks import blocks
from _ext.book_pages.translated import headings
from chapters.small_engine import workshop
from tests.support.chapters.chapter import ROOT
from tools import translation
from tools.parity import code_faults, faults, prose_faults

TRANSLATED = [(edition, page) for edition in editions(ROOT) for page in edition.pages()]
NAMES = [f"{edition.code}/{page}" for edition, page in TRANSLATED]

CELL = """```{{code-cell}} ipython3
:tags: [remove-input]

%%stage --title "{title}" --key 2
x = mt.zeros([2])  # {comment}
x.add_({amount})
```"""


@pytest.mark.parametrize(("edition", "page"), TRANSLATED, ids=NAMES)
def test_a_page_keeps_the_code_the_links_the_marks_and_the_numbers_of_the_english_page(edition, page):
    """An outdated translation is an expected failure: its page shows a notice until the translator accepts it again."""
    if changed := edition.changed(page):
        pytest.xfail("\n".join([f"{edition.code}/{page}.md was translated before these blocks changed:", *changed]))
    assert translation.page_faults(edition, page) == []
    assert edition.source_of(page), f"python tools/translation.py accept {page}"
    recorded = [tuple(heading) for heading in edition.source_of(page)["headings"]]
    assert recorded == [tuple(heading) for heading in headings(edition.english(page))]


def test_each_part_of_the_book_has_a_caption_in_each_edition():
    for edition in editions(ROOT):
        assert edition.table_of_contents()["root"] == "index"


# ---- what the comparison finds ---------------------------------------------------------------------------------------


def found(english: str, other: str) -> str:
    (block,), (translated,) = blocks(english), blocks(other)
    return "\n".join(faults(block, translated, "zh"))


def test_a_translation_of_a_cell_has_no_faults():
    english = CELL.format(title="A write", comment="two zeros", amount="1.0")
    assert found(english, CELL.format(title="一次写入", comment="两个零", amount="1.0")) == ""


def test_a_translation_of_a_paragraph_has_no_faults():
    english = "{step}`3` Line 3 writes 16 MiB through `v` ([chapter 3](03_views.md#a-part))."
    assert found(english, "{step}`3` 第 3 行通过 `v` 写入 16 MiB（[第 3 章](03_views.md#a-part)）。") == ""


def test_a_translated_mark_may_translate_the_label_of_a_program_but_not_the_step():
    english = "{step}`3#last in a new tensor` Three blocks."
    assert found(english, "{step}`3#last in 新张量` 三块。") == ""
    assert "roles" in found(english, "{step}`4#last in 新张量` 三块。")
    assert "roles" in found(english, "{step}`3#last` 三块。")


def test_texts_in_a_program_that_does_not_run_may_be_translated_but_not_its_code():
    english = '```python\n%%stage --title "A write"\nx.add_(1.0)  # a note\n```'
    assert found(english, '```python\n%%stage --title "一次写入"\nx.add_(1.0)  # 注释\n```') == ""
    assert "has other code" in found(english, '```python\n%%stage --title "一次写入"\nx.add_(2.0)\n```')


def test_a_page_may_link_to_the_english_or_the_translated_file_beside_the_chapters():
    english = "Download [the judge](small_engine/judge.py), and see [chapter 3](03_views.md)."
    linked = "下载[裁判]({})，并看[第 3 章](03_views.md)。"
    assert found(english, linked.format("../../chapters/small_engine/judge.py")) == ""
    assert found(english, linked.format("small_engine/judge.py")) == ""
    assert "links" in found(english, linked.format("small_engine/engine.py"))


BESIDE = [(edition, path) for edition in editions(ROOT) for path in sorted(edition.folder.glob("chapters/*/*.py"))]


@pytest.mark.parametrize(("edition", "path"), BESIDE, ids=[str(path.relative_to(ROOT)) for _, path in BESIDE])
def test_a_file_beside_the_chapters_keeps_the_code_and_translates_the_comments(edition, path):
    own, english = (file.read_text(encoding="utf-8") for file in (path, ROOT / path.relative_to(edition.folder)))
    assert "\n".join(code_faults(english, own, edition.code)) == ""
    comments = [
        token.string for token in tokenize.generate_tokens(io.StringIO(own).readline) if token.type == tokenize.COMMENT
    ]
    assert [comment for comment in comments if re.search(r"[a-z]{2,} [a-z]{2,}", comment)] == []


def test_the_engine_file_of_an_edition_equals_the_cells_on_its_page():
    """Each cell and each diff has translated comments, which have to agree with each other and with the file."""
    for edition in editions(ROOT):
        cells = workshop.read((edition.folder / "chapters/16_an_engine_in_an_afternoon.md").read_text(encoding="utf-8"))
        engine = edition.folder / "chapters/small_engine/engine.py"
        assert cells.at(7) == engine.read_text(encoding="utf-8")
        assert list(cells.ideas) == list(range(1, 8))


def test_only_a_message_in_italics_or_quotes_may_stay_english():
    message = "one of the variables needed for gradient computation has been modified"
    english = f"It raises *{message}*, with 100 million numbers of 4, 8 or 65,504 bytes."
    assert found(english, f"它报错：*{message}*，共 1 亿个数，每个 4、8 或 65,504 字节。") == ""
    assert found(english, f"它报错：“{message} ...”，每个 4、8 或 65,504 字节。") == ""
    assert "has English left" in found(english, f"它报错：{message}，每个 4、8 或 65,504 字节。")
    assert "has English left" in found("It fails without one word.", f"它报错：*{message}*。")


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        (CELL.format(title="一次写入", comment="", amount="2.0"), "has other code"),
        (CELL.format(title="一次写入", comment="", amount="1.0").replace("--key 2", "--key 1"), "arguments of %%stage"),
        (CELL.format(title="一次写入", comment="", amount="1.0").replace(":tags: [remove-input]\n", ""), "settings"),
        ("一段文字。", "is paragraph"),
    ],
)
def test_a_changed_cell_is_found(other, fault):
    assert fault in found(CELL.format(title="A write", comment="two zeros", amount="1.0"), other)


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        ("第 3 行通过 `v` 写入 16 MiB（[第 3 章](03_views.md)）。", "links"),
        ("第 3 行通过 `w` 写入 16 MiB（[第 3 章](03_views.md#a-part)）。", "code: lacks ['v'], adds ['w']"),
        ("第 3 行通过 `v` 写入 32 MiB（[第 3 章](03_views.md#a-part)）。", "lacks the numbers 16"),
        ("{step}`3` 第 3 行通过 `v` 写入 16 MiB（[第 3 章](03_views.md#a-part)）。", "roles"),
        ("第 3 行 writes it through the second view `v` 16 MiB（[章](03_views.md#a-part)）。", "has English left"),
    ],
)
def test_a_changed_paragraph_is_found(other, fault):
    assert fault in found("Line 3 writes 16 MiB through `v` ([chapter 3](03_views.md#a-part)).", other)


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        ("* **先写**。没有*害处*。", ""),
        ("* **先写。**没有*害处*。", "prints a star"),
        ("* **先写**。没有*害处。*因为", "prints a star"),
    ],
)
def test_bold_and_italics_that_markdown_prints_as_stars_are_found(other, fault):
    said = found("* **Write first.** It does *no* harm.", other)
    assert fault in said
    assert bool(fault) == bool(said)


@pytest.mark.parametrize(
    ("english", "other", "fault"),
    [
        ('f"{a} of {b}"', 'f"{b} 中的 {a}"', ""),
        ('f"{a} of {b}"', 'f"{b} 中的 {b}"', "has other code"),
        ('f"{a:10} {b:.1f}"', 'f"{a:8} {b:.1f}"', ""),
        ('f"{b:.1f}"', 'f"{b:.2f}"', "has other code"),
        ('Path("../facts/views.json")', 'Path("../../facts/views.json")', ""),
        ('Path("../facts/views.json")', 'Path("../facts/views.json")', "path"),
        ('f("`x` holds")', 'f("`y` 的内容")', "code in a text"),
        ('f("float32")', 'f("float64")', "name"),
        ('run("""\nx = 1\ny = x\n""")', 'run("""\nx = 1\ny = 2\n""")', "has other code"),
        ('Path("../book/class.json")', 'Path("../book/class.json")', ""),
        ('Path("../book/contents.json")', 'Path("../book/contents.json")', "path"),
        ("%load_ext book_kit", "%load_ext book_kit.zh", ""),
        (
            '%%step 2\n@@ -1,2 +1,2 @@ a\n-x  # one\n+"""Two."""',
            '%%step 2\n@@ -1,2 +1,2 @@ b\n-x  # 一\n+"""二。"""',
            "",
        ),
        ("%%engine the derivative table\nx = 1", "%%engine 导数表\nx = 1", ""),
        ("%%engine the derivative table\nx = 1", "%%engine 导数表\nx = 2", "has other code"),
        ("%%step 2\n@@ -1,2 +1,2 @@\n-x\n+y", "%%step 2\n@@ -1,2 +1,2 @@\n-x\n+z", "code"),
        ("%load_ext book_kit", "%load_ext other_kit", "commands"),
    ],
)
def test_texts_in_a_program_may_be_translated_but_not_its_code(english, other, fault):
    said = "\n".join(code_faults(english, other, "zh"))
    assert fault in said
    assert bool(fault) == bool(said)


# ---- records ---------------------------------------------------------------------------------------------------------

PAGE = "---\nquestion: Why?\n---\n\n# A title\n\nFirst.\n\n## A part\n\nSecond.\n\nThird.\n"


@pytest.fixture
def edition(tmp_path):
    (tmp_path / "xx").mkdir()
    settings = {"title": "T", "author": "A", "copyright": "C", "captions": {"One": "Un"}}
    (tmp_path / "xx" / SETTINGS).write_text(json.dumps(settings), encoding="utf-8")
    contents = {"format": "jb-book", "root": "index", "parts": [{"caption": "One", "chapters": [{"file": "a"}]}]}
    (tmp_path / "_toc.yml").write_text(json.dumps(contents), encoding="utf-8")
    for folder in (tmp_path, tmp_path / "xx"):
        (folder / "index.md").write_text(PAGE, encoding="utf-8")
    return Edition(tmp_path, "xx")


def test_a_changed_an_added_and_a_removed_block_of_the_english_page_are_named(edition):
    edition.record("index", headings(PAGE))
    assert edition.changed("index") == []
    text = PAGE.replace("First.", "Once.").replace("Second.\n\n", "").replace("Third.\n", "Third.\n\nFourth.\n")
    (edition.book / "index.md").write_text(text, encoding="utf-8")
    assert edition.changed("index") == [
        "index.md:7: changed: Once.",
        "index.md: removed: Second.",
        "index.md:13: added: Fourth.",
    ]


def test_a_page_that_is_not_translated_is_missing_in_the_contents(edition):
    assert edition.table_of_contents() == {"format": "jb-book", "root": "index"}
    (edition.folder / "a.md").write_text("# A", encoding="utf-8")
    assert edition.table_of_contents()["parts"] == [{"caption": "Un", "chapters": [{"file": "a"}]}]


def test_an_edition_without_its_first_page_or_a_caption_is_refused(edition):
    contents = (edition.book / "_toc.yml").read_text().replace("One", "Two")
    (edition.book / "_toc.yml").write_text(contents)
    with pytest.raises(ValueError, match="has no caption for the part 'Two'"):
        edition.table_of_contents()
    (edition.folder / "index.md").unlink()
    with pytest.raises(ValueError, match="an edition needs its first page"):
        edition.table_of_contents()


def test_the_chinese_texts_use_the_words_of_the_table_of_terms():
    """A term's `not` lists words that other Chinese texts use for the same thing. These texts must not use them."""
    terms = json.loads((ROOT / "facts" / "terms-zh.json").read_text(encoding="utf-8"))
    wrong = {word: term["chinese"] for term in terms for word in term.get("not", [])}
    files = [path for suffix in ("md", "json", "po", "yml") for path in (ROOT / "zh").rglob(f"*.{suffix}")]
    files += [path for package in ("book_kit", "memory_stage") for path in (ROOT / package).rglob("*.po")]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word}, where the table has {right}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word, right in wrong.items()
        if word in line
    ]
    assert "副本" in wrong and len(files) > 60
    assert found == []


def test_headings_have_the_anchors_that_the_build_gives_them():
    text = "# 1. What `x` is\n\n```python\n# no heading\n```\n\n## Again\n\n## Again\n"
    assert headings(text) == [("what-x-is", "1-what-x-is"), ("again", "again"), ("id1", "again-1")]


# ---- the words of the pages' frame -----------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", editions(ROOT), ids=lambda edition: edition.code)
def test_each_word_of_the_frame_is_translated_with_the_same_values_and_tags(edition):
    translated = words.catalogue(edition.folder / words.CATALOGUE)
    assert set(translated) == words.used()
    value_or_tag = re.compile(r"\{\w+\}|</?\w+")
    for (_, text), said in translated.items():
        assert sorted(value_or_tag.findall(text)) == sorted(value_or_tag.findall(said)), text


@pytest.mark.parametrize("edition", editions(ROOT), ids=lambda edition: edition.code)
def test_the_causes_of_messages_are_translated_with_the_same_code(edition):
    english = json.loads((ROOT / "book" / "causes.json").read_text(encoding="utf-8"))
    translated = edition.data("causes")
    assert list(translated) == list(english)
    for key, cause in translated.items():
        assert set(cause) == {"title", "what", "do", "where"}
        for name, said in cause.items():
            assert list(prose_faults(english[key][name], said)) == [], (key, name)


def test_an_edition_without_words_has_no_catalogue(tmp_path):
    assert words.catalogue(tmp_path / words.CATALOGUE) == {}
