"""Test that the catalogues are complete and up to date, and that both languages have the same content."""

from __future__ import annotations

import ast
import json
import re

import pytest

import memory_stage as stage
import minitensor as mt
from memory_stage.messages import in_context, joined, language, message, plural, render, sentences, set_language
from memory_stage.trace.validation import validate
from memory_stage.web import embed, picture
from tests.memory_stage.sentences.test_sentences_all import STAGE, pairs
from tools import messages as catalogues

CHINESE = language("zh")


@pytest.mark.parametrize("package", catalogues.PACKAGES, ids=lambda package: package.name)
def test_every_message_is_translated_with_the_same_placeholders(package):
    assert [fault for code in catalogues.LOCALES for fault in catalogues.faults(package, code)] == []


def test_the_catalogues_have_exactly_the_messages_of_the_source():
    assert catalogues.stale() == []


def test_copies_of_the_source_in_build_are_not_read(monkeypatch, tmp_path):
    """pip leaves such copies when it builds a wheel from a folder."""
    for folder in ("stage", "stage/build/lib/stage"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "words.py").write_text('message("a word")\n')
    monkeypatch.setattr(catalogues, "ROOT", tmp_path)
    assert list(catalogues.sources(catalogues.Package("stage", "locale"))) == [tmp_path / "stage" / "words.py"]


def test_each_kind_of_fault_in_a_catalogue_is_reported(monkeypatch, tmp_path):
    package = catalogues.Package("memory_stage", "memory_stage/messages/locale")
    whole = catalogues.update(package, "zh")
    whole["Line {line}"].string = "第 {number} 行"
    whole["no cell"].string = ""
    monkeypatch.setattr(catalogues, "update", lambda package, code: whole)
    faults = list(catalogues.faults(package, "zh"))
    assert [fault.partition("'")[2] for fault in faults] == [
        "Line {line}' has other placeholders than '第 {number} 行'",
        "no cell' has no translation",
    ]


def test_a_language_with_more_plural_forms_than_the_scripts_support_is_reported(monkeypatch):
    """The scripts contain the two plural forms of English. Chinese has one form."""
    package = catalogues.PACKAGES[0]
    assert package.scripts and {catalogues.update(package, code).num_plurals for code in catalogues.LOCALES} == {1}
    monkeypatch.setattr(catalogues, "update", lambda package, code: catalogues.Catalog(locale="fr_FR"))
    (fault,) = catalogues.faults(package, "zh")
    assert "has 2 plural forms" in fault and "shared/messages.js" in fault


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (("{count} byte", "{count} bytes"), "{count} byte", "{count} 字节"),
        ("{count} byte", ("{count} byte", "{count} bytes"), ("{count} 字节",)),
    ],
)
def test_a_message_keeps_its_translation_if_it_gains_or_loses_a_plural(monkeypatch, tmp_path, before, after, kept):
    package = catalogues.Package("some", "locale")
    monkeypatch.setattr(catalogues, "ROOT", tmp_path)
    monkeypatch.setattr(catalogues, "sources", lambda package: [tmp_path / "some.py"])
    arguments = lambda text: f"({text!r})" if isinstance(text, str) else repr((*text, 2))  # noqa: E731
    for text in (before, after):
        function = "message" if isinstance(text, str) else "plural"
        (tmp_path / "some.py").write_text(f"{function}{arguments(text)}", encoding="utf-8")
        catalogue = catalogues.update(package, "zh")
        if text is before:
            catalogue["{count} byte"].string = "{count} 字节" if isinstance(text, str) else ("{count} 字节",)
        path = package.catalogue("zh")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(catalogues.as_po(catalogue))
    assert catalogues.update(package, "zh")["{count} byte"].string == kept
    assert list(catalogues.faults(package, "zh")) == []


def test_a_word_with_two_meanings_has_a_translation_of_each():
    assert render(message("cell"), CHINESE) == "单元" and render(in_context("notebook", "cell"), CHINESE) == "单元格"
    assert render(message("free"), CHINESE) == "无代价" and render(in_context("allocator", "free"), CHINESE) == "空闲"
    assert str(in_context("notebook", "cell")) == "cell"


def recorded(program: str) -> stage.Stage:
    earlier, _, program = program.rpartition(STAGE)
    namespace = {"__name__": "__main__", "mt": mt}
    exec(compile(earlier, "<earlier>", "exec"), namespace)
    try:
        return stage.record(program, namespace)
    finally:
        mt.set_device("cpu")


#: The Chinese phrase for a local variable, in which the function is before the variable.
_CHINESE_LOCAL = re.compile("`(.+) 中的 (.+)`")


def facts_in(sentence: str) -> list[str]:
    """Return the code, the sizes and the numbers of a sentence, in alphabetical order."""
    codes = [_CHINESE_LOCAL.sub(r"`\2 in \1`", code) for code in re.findall("`[^`]*`", sentence)]
    plain = re.sub("`[^`]*`", " ", sentence)
    return sorted(codes + re.findall(r"(?<![\w.])-?\d[\d,.]*\d|\d", plain))


#: English phrases to replace before the comparison, because Chinese writes the number as a digit and has no plural.
_NUMBER_WORDS = {"no cell": "0 cells", "cell of storage": "cells of storage"}


def test_the_sentences_of_both_languages_contain_the_same_code_and_numbers():
    wrong, said = [], 0
    for pair in pairs():
        shown = recorded(pair.true)
        translated = shown.translated("zh")
        validate(translated.data)
        steps = zip(shown.data["variants"][0]["steps"], translated.data["variants"][0]["steps"], strict=True)
        for english, chinese in steps:
            said += 1
            expected = english["say"]
            for words, number in _NUMBER_WORDS.items():
                expected = expected.replace(words, number)
            repeated = {each for each in facts_in(expected)} == {each for each in facts_in(chinese["say"])}
            left = re.search(r"[a-z]{2,}", re.sub("`[^`]*`", "", chinese["say"]))
            if not repeated or (left and left[0] not in _UNTRANSLATED):
                wrong.append((english["say"], chinese["say"]))
    assert wrong == [] and said > 500


#: Words that are not translated.
_UNTRANSLATED = {"numpy", "notebook", "minitensor", "float", "int", "bool", "complex", "inf", "nan"}


def test_one_recording_is_shown_in_both_languages():
    shown = stage.record("x = mt.ones([2])\nx.add_(1)", language="zh")
    assert shown.data["language"] == "zh-CN"
    assert shown.data["title"] == "程序对内存做了什么"
    assert [step["say"] for step in shown.data["variants"][0]["steps"]] == [
        "第 1 行新建存储 1（2 个数，8 字节）和一个使用它的张量，形状为 [2]。`x` 指向这个张量。",
        "`add_` 写入存储 1 的全部 2 个单元，版本从 0 变为 1。",
    ]
    english = shown.translated("en")
    assert "language" not in english.data
    assert english.data == stage.record("x = mt.ones([2])\nx.add_(1)").data
    assert english.translated("zh").data == shown.data


def test_chinese_sentences_have_special_forms_for_a_single_cell_and_for_two_leaves():
    program = (
        "a = mt.to_tensor([2.0], stop_gradient=False)\nb = mt.to_tensor([3.0], stop_gradient=False)\n"
        "(a * b).backward()\na.detach().zero_()"
    )
    said = [step["say"] for step in stage.record(program, language="zh").data["variants"][0]["steps"]]
    assert any("`a.grad` 为 [3]，`b.grad` 为 [2]，" in each for each in said)
    assert any("的唯一一个单元" in each for each in said) and not any("全部 1 个" in each for each in said)


def test_a_stage_made_from_data_cannot_be_translated():
    shown = stage.Stage.of(stage.record("x = mt.ones([2])").data)
    with pytest.raises(ValueError, match="translated takes a stage that was recorded by this program"):
        shown.translated("zh")


def test_the_labels_holders_and_verdicts_are_translated():
    program = (
        "w = mt.to_tensor([1., 2.], stop_gradient=False)\na = w * 1\ny = a * a\n"
        "with mt.set_inplace_policy('copy_on_write'):\n    a[0] = 7.\nx = {mt.ones([2])}"
    )
    shown = stage.record(program, language="zh")
    (variant,) = shown.data["variants"]
    events = [event for step in variant["steps"] for event in step["events"]]
    assert [event["label"] for event in events if event["do"] == "storage" and "label" in event] == ["a@0 的一部分"]
    assert [event["holder"] for event in events if "holder" in event] == ["一个集合"]
    assert variant["verdict"] == "留住 4 字节"


def test_the_default_language_is_set_and_read_from_the_environment(monkeypatch):
    try:
        set_language("zh_CN")
        assert stage.record("x = 1").data["language"] == "zh-CN"
        assert "language" not in stage.record("x = 1", language="en").data
        set_language(None)
        assert "language" not in stage.record("x = 1").data
        monkeypatch.setenv("MEMORY_STAGE_LANGUAGE", "zh")
        assert stage.record("x = 1").data["language"] == "zh-CN"
    finally:
        set_language(None)


@pytest.mark.parametrize("wrong", ["fr", "", 3])
def test_an_unknown_language_is_refused_and_changes_nothing(wrong):
    with pytest.raises(ValueError, match="language must be one of 'en', 'zh', not "):
        stage.record("raise SystemExit", language=wrong)
    with pytest.raises(ValueError, match="language must be one of 'en', 'zh', not "):
        set_language(wrong)


def test_a_saved_page_declares_its_language(tmp_path):
    stage.record("x = mt.ones([2])", language="zh").save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.startswith('<!doctype html>\n<html lang="zh-CN">')
    assert "<caption>全部步骤</caption>" in page and "<caption>All steps</caption>" not in page


@pytest.mark.parametrize(("spoken", "name"), [("en", "Details"), ("zh", "详情")])
def test_a_saved_page_has_controls_in_its_language(tmp_path, open_page, spoken, name):
    stage.record("x = mt.ones([2])", language=spoken).save(tmp_path / "page.html")
    page = open_page(width=1000)
    page.goto((tmp_path / "page.html").as_uri())
    assert page.locator("memory-stage .deeper").inner_text() == name
    assert page.evaluate("typeof memoryStageWords") == ("undefined" if spoken == "en" else "object")


def test_the_first_output_in_another_language_contains_its_words_before_the_stage(monkeypatch):
    monkeypatch.setattr(embed, "_included_by", {})
    monkeypatch.delenv("MINITENSOR_BOOK", raising=False)
    stages = [stage.record("x = mt.ones([2])", language=spoken) for spoken in ("en", "zh", "zh")]
    outputs = [shown._repr_mimebundle_()["text/html"] for shown in stages]
    words = [output.count("globalThis.memoryStageWords=") for output in outputs]
    assert words == [0, 1, 0]
    monkeypatch.setattr(embed, "_included_by", {})
    alone = stages[1]._repr_mimebundle_()["text/html"]
    assert alone.index("globalThis.memoryStageWords=") < alone.index("memoryStage=(")


def test_a_picture_drawn_in_python_is_in_the_language_of_its_trace():
    english, chinese = (stage.record("x = mt.ones([2])", language=spoken).data for spoken in ("en", "zh"))
    assert ">storages<" in picture.svg(english) and ">存储<" in picture.svg(chinese)


def test_a_list_is_joined_by_the_rules_of_the_language():
    names = [f"`{name}`" for name in "abc"]
    assert [str(joined(names[:count])) for count in (1, 2, 3)] == ["`a`", "`a` and `b`", "`a`, `b` and `c`"]
    assert render(joined(names), CHINESE) == "`a`、`b` 和 `c`"


def test_a_plural_follows_its_count():
    assert [str(plural("{count} cell", "{count} cells", count)) for count in (0, 1, 2)] == [
        "0 cells",
        "1 cell",
        "2 cells",
    ]
    assert render(plural("{count} cell", "{count} cells", 1), CHINESE) == "1 个单元"


def test_spaces_next_to_chinese_text_are_removed_unless_they_are_in_code():
    sentence = message("{name} names the tensor of {other}.", name="`d['长 度']`", other=message("the tensor"))
    assert render(sentence, CHINESE) == "`d['长 度']` 与该张量指向同一个张量。"
    assert render(sentences([sentence, sentence]), CHINESE).count("。`d") == 1


def test_every_message_of_the_scripts_is_extracted():
    """A text that is not extracted would remain in English."""
    source = "const a = `<b title=\"${t('One')}\">${plural('{count} cell', '{count} ' + 'cells', 2)}</b>`;"
    assert list(catalogues.in_script(source)) == [("One", None), (("{count} cell", "{count} cells"), None)]
    scripts = [path for path in catalogues.sources(catalogues.PACKAGES[0]) if path.suffix == ".js"]
    calls = re.compile(r"(?<![\w.`])(?:t|plural)\((?=\s*['\"`])")
    for path in scripts:
        text = path.read_text("utf-8")
        assert len(calls.findall(text)) == len(list(catalogues.in_script(text))), path


def test_the_messages_of_the_modules_are_in_the_catalogues():
    """Babel misses a message inside an f-string."""
    for package in catalogues.PACKAGES:
        known = {catalogues._key(message) for message in catalogues.update(package, "zh") if message.id}
        for path in catalogues.sources(package):
            if path.suffix == ".py":
                calls = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
                named = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in catalogues.CALLS]
                literals = [[arg.value for arg in node.args if isinstance(arg, ast.Constant)] for node in named]
                used = {
                    "\x04".join(texts[: 1 + (node.func.id == "in_context")])
                    for node, texts in zip(named, literals, strict=True)
                }
                assert used - {""} <= known, path


def test_each_term_has_a_chinese_word_and_a_source_and_most_are_in_the_catalogue():
    terms = json.loads((catalogues.ROOT / "facts" / "terms-zh.json").read_text("utf-8"))
    said = catalogues.PACKAGES[0].catalogue("zh").read_text("utf-8")
    words = json.loads((catalogues.ROOT / "book" / "glossary.json").read_text("utf-8"))
    glossary = {each["name"] for each in words}
    for term in terms:
        assert term["english"] and term["chinese"] and term["source"]
        assert term["source"] != "book/glossary.json" or term["english"] in glossary, term
    used = [term["english"] for term in terms if term["chinese"].partition("（")[0] in said]
    assert len(used) > 0.8 * len(terms)
