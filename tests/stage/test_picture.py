"""Pictures without a browser: complete, repeatable, safe; the script fits into a page."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from minitensor.notebook import picture
from tests.stage import pages

SVG = "{http://www.w3.org/2000/svg}"


def drawn_text(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", pages.NAMES)
def test_a_picture_is_well_formed_and_labelled_by_its_sentence(name):
    trace = pages.trace(name)
    for number, variant in enumerate(trace["variants"]):
        root = ElementTree.fromstring(picture.svg(trace, number, width=700))
        assert root.tag == f"{SVG}svg"
        assert root.get("width") == "700"
        assert root.get("role") == "img"
        assert root.get("aria-label") == pages.spoken(variant["steps"][-1]["say"])


def test_a_picture_is_the_same_in_every_process():
    code = (
        "import json; from minitensor.notebook import picture; from tests.stage import pages\n"
        "print(json.dumps({name: picture.svg(pages.trace(name)) for name in pages.NAMES}))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=120)
    there = json.loads(other.stdout)
    for name in pages.NAMES:
        assert there[name] == picture.svg(pages.trace(name)) == picture.svg(pages.trace(name)), name


def test_hostile_text_stays_text():
    trace = pages.trace("hostile")
    for number, variant in enumerate(trace["variants"]):
        for step in range(len(variant["steps"])):
            for width in (300, 760):
                root = ElementTree.fromstring(picture.svg(trace, number, step, width))
                tags = {node.tag.removeprefix(SVG) for node in root.iter()}
                known = {"svg", "style", "defs", "pattern", "g", "rect", "circle", "path", "text", "title"}
                assert tags <= known
                attributes = {key for node in root.iter() for key in node.attrib}
                assert not {key for key in attributes if key.startswith("on") or "href" in key}


def test_what_is_gone_is_drawn_red_at_the_write_and_not_before():
    trace = pages.trace("stale")
    assert "a@0 is gone" not in drawn_text(picture.svg(trace, step=2))
    at_the_write = drawn_text(picture.svg(trace, step=3))
    assert trace["variants"][0]["steps"][3]["phase"] == "forward"
    assert "a@0 is gone" in at_the_write
    assert "0 ≠ 1" in at_the_write


def test_a_copy_keeps_the_saved_numbers():
    words = drawn_text(picture.svg(pages.trace("stale"), variant=1, step=3))
    assert "a@0 is gone" not in words
    assert words.count("copy of a@0") >= 2


def test_a_part_that_is_kept_stands_in_a_storage_of_its_own_and_nothing_is_red():
    trace = pages.trace("preserved")
    number = [variant["label"] for variant in trace["variants"]].index("copy on write")
    svg = picture.svg(trace, number, step=3, width=1000)
    words = drawn_text(svg)
    assert {"part of h@0", "saved h@0", "h@0 and a copy", "version 0 → 1"} <= set(words)
    assert not [word for word in words if "≠" in word or word.endswith(("is gone", "is stale"))]
    assert "0 ≠ 1" in drawn_text(picture.svg(trace, 1 - number, step=3, width=1000))


def test_the_track_of_what_is_saved_leaves_out_the_cells_that_were_copied():
    trace = pages.trace("preserved")
    number = [variant["label"] for variant in trace["variants"]].index("copy on write")

    def dashed(step: int) -> int:  # pieces of the tracks of saved tensors
        drawn = ElementTree.fromstring(picture.svg(trace, number, step=step, width=1000)).iter(f"{SVG}rect")
        return sum("stroke-dasharray:4 2" in node.get("style") for node in drawn)

    # both rows of storage 2; the first row there and the copy of the second; two of its cells, and the copies
    assert [dashed(step) for step in (2, 3, 4)] == [2, 2, 4]


def test_a_saved_tensor_whose_bytes_nobody_took_is_stale_but_not_gone():
    trace = pages.trace("policies")
    at_the_write = drawn_text(picture.svg(trace, step=5))
    assert "a@0 is gone" in at_the_write and "a@0 is stale" in at_the_write
    assert not {"a@0 is gone", "a@0 is stale"} & set(drawn_text(picture.svg(trace, step=4)))


def test_marks_are_called_marks_and_drawn_as_bits():
    words = drawn_text(picture.svg(pages.trace("marks"), step=3))
    assert {"1-bit marks of a@0", "marks of a@0", "10110000", "01000000", "copy of a@0"} <= set(words)


def test_a_gradient_is_drawn_when_it_has_arrived():
    trace = pages.trace("slice")
    seen = [drawn_text(picture.svg(trace, step=step)).count("[10, 10, 1]") for step in range(9)]
    assert seen == [0] * 7 + [1, 2]


def test_every_number_of_a_small_storage_is_drawn_and_the_old_ones_beside_the_new():
    words = drawn_text(picture.svg(pages.trace("three"), variant=2, step=1))
    assert [word for word in words if word.isdigit() and word != "0"].count("3") == 2  # written over, and written
    assert "version 0 → 1" in words


def test_of_a_thousand_numbers_the_ends_are_drawn_and_the_rest_is_counted():
    words = drawn_text(picture.svg(pages.trace("many-elements")))
    assert {"10", "19", "999", "9", "8", "979"} <= set(words)


def test_a_big_program_folds_what_is_untouched():
    words = drawn_text(picture.svg(pages.trace("many-tensors"), step=10))
    assert any("more storages" in word and "w1" in word for word in words)


def test_a_chain_of_equal_operations_is_one_box():
    words = drawn_text(picture.svg(pages.trace("loop"), variant=1, step=41))
    assert "40 × scale_" in words


def test_a_step_or_variant_that_is_not_there_is_refused():
    trace = pages.trace("three")
    with pytest.raises(IndexError):
        picture.svg(trace, step=3)
    with pytest.raises(IndexError):
        picture.svg(trace, variant=3)


@pytest.mark.parametrize("name", pages.NAMES)
def test_text_is_what_the_script_says(name):
    trace = pages.trace(name)
    said = picture.text(trace)
    assert said == picture._v8().call("text", trace)
    assert [v["code"] for v in said["variants"]] == [v["code"] for v in trace["variants"]]


def test_an_error_is_part_of_the_text():
    steps = picture.text(pages.trace("stale"))["variants"][0]["steps"]
    assert [bool(step["error"]) for step in steps] == [False] * 5 + [True]


def test_the_script_is_light_and_self_contained():
    source = picture.script_source()
    assert len(gzip.compress(source.encode(), mtime=0)) < 40_000
    for word in (
        "import(",
        "import ",
        "fetch(",
        "XMLHttp",
        "@import",
        "eval(",
        "</script",
        "<!--",
        "new Function",
        "document.write",
    ):
        assert word not in source, word
    hosts = {part.split("/")[0].split('"')[0] for part in source.replace("http:", "https:").split("https://")[1:]}
    assert hosts <= {"www.w3.org"}  # the name of SVG, which nothing fetches


def test_the_widget_source_is_the_same_script_with_an_export():
    assert picture.widget_source().startswith(picture.script_source())
    assert "export default" in picture.widget_source()
    assert "export default" not in picture.script_source()
