"""Test without a browser that pictures are complete, repeatable and safe, and that the script is small."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import memory_stage as stage
from memory_stage.web import picture
from tests.support.web import drawing, pages

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
        "import json; from memory_stage.web import picture; from tests.support.web import pages\n"
        "print(json.dumps({name: picture.svg(pages.trace(name)) for name in pages.NAMES}))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=300)
    there = json.loads(other.stdout)
    for name in pages.NAMES:
        assert there[name] == picture.svg(pages.trace(name)) == picture.svg(pages.trace(name)), name


def test_hostile_text_in_a_picture_does_not_become_markup():
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


def test_a_tensor_of_another_dtype_is_described_by_its_elements_and_drawn_on_cells():
    trace = stage.record("import minitensor as mt\nx = mt.ones([2, 2], 'float64')\ny = x.reshape([4])").data
    plain = picture.svg(trace, width=760)
    (view,) = (e for e in trace["variants"][0]["steps"][-1]["events"] if e["do"] == "tensor")
    view |= {"dtype": "int32", "elements": {"shape": [8], "strides": [1], "offset": 0, "itemsize": 4}}
    other = picture.svg(trace, width=760)
    assert "[4]" in drawn_text(plain) and "[8]" not in drawn_text(plain)
    assert "[8]" in drawn_text(other) and "[4]" not in drawn_text(other)
    assert plain.count("<path") == other.count("<path")  # the tracks of both tensors are equal


def test_after_a_write_an_overwritten_saved_tensor_is_called_gone():
    trace = pages.trace("stale")
    assert "a@0 is gone" not in drawn_text(picture.svg(trace, step=2))
    at_the_write = drawn_text(picture.svg(trace, step=3))
    assert trace["variants"][0]["steps"][3]["phase"] == "forward"
    assert "a@0 is gone" in at_the_write
    assert "0 ≠ 1" in at_the_write


def test_a_copied_saved_tensor_is_called_a_copy_and_not_gone():
    words = drawn_text(picture.svg(pages.trace("stale"), variant=1, step=3))
    assert "a@0 is gone" not in words
    assert words.count("copy of a@0") >= 2


def test_a_preserved_part_is_drawn_in_a_separate_storage_and_nothing_is_called_stale():
    trace = pages.trace("preserved")
    number = [variant["label"] for variant in trace["variants"]].index("copy on write")
    svg = picture.svg(trace, number, step=3, width=1000)
    words = drawn_text(svg)
    assert {"part of h@0", "saved h@0", "h@0 and a copy", "version 0 → 1"} <= set(words)
    assert not [word for word in words if "≠" in word or word.endswith(("is gone", "is stale"))]
    assert "0 ≠ 1" in drawn_text(picture.svg(trace, 1 - number, step=3, width=1000))


def test_the_bar_of_a_saved_tensor_leaves_out_the_copied_cells():
    trace = pages.trace("preserved")
    number = [variant["label"] for variant in trace["variants"]].index("copy on write")

    def dashed(step: int) -> int:  # count the pieces of the tracks of saved tensors, which have dashed edges
        drawn = ElementTree.fromstring(picture.svg(trace, number, step=step, width=1000)).iter(f"{SVG}rect")
        return sum("stroke-dasharray:4 2" in node.get("style") for node in drawn)

    # The pieces are both rows of storage 2 in step 2, its first row and the copy of its second row in step 3, and two
    # cells and two copies in step 4.
    assert [dashed(step) for step in (2, 3, 4)] == [2, 2, 4]


def test_a_stale_saved_tensor_whose_bytes_were_not_overwritten_is_not_called_gone():
    trace = pages.trace("policies")
    at_the_write = drawn_text(picture.svg(trace, step=5))
    assert "a@0 is gone" in at_the_write and "a@0 is stale" in at_the_write
    assert not {"a@0 is gone", "a@0 is stale"} & set(drawn_text(picture.svg(trace, step=4)))


def test_a_saved_mask_is_called_marks_and_drawn_as_bits():
    words = drawn_text(picture.svg(pages.trace("marks"), step=3))
    assert {"1-bit marks of a@0", "marks of a@0", "10110000", "01000000", "copy of a@0"} <= set(words)


def test_a_gradient_is_drawn_once_it_has_arrived():
    trace = pages.trace("slice")
    seen = [drawn_text(picture.svg(trace, step=step)).count("[10, 10, 1]") for step in range(9)]
    assert seen == [0] * 7 + [1, 2]


def test_in_a_small_storage_the_overwritten_number_is_drawn_beside_the_new_number():
    words = drawn_text(picture.svg(pages.trace("three"), variant=2, step=1))
    # the overwritten and the new number
    assert [word for word in words if word.isdigit() and word != "0"].count("3") == 2
    assert "version 0 → 1" in words


def heavy_frames(drawn: str) -> list[tuple[float, float, bool]]:
    """Return the left and right edges of the frames around written cells, each with True for a dashed frame."""
    rects = ElementTree.fromstring(drawn).iter(f"{SVG}rect")
    heavy = [rect for rect in rects if re.search(r"stroke-width:3(;|$)", rect.get("style"))]
    ends = [(float(rect.get("x")), float(rect.get("x")) + float(rect.get("width"))) for rect in heavy]
    return sorted((*each, "stroke-dasharray:5 3" in rect.get("style")) for each, rect in zip(ends, heavy, strict=True))


def band_of(drawn: str) -> tuple[float, float]:
    """Return the left and right edges of a band, which is the widest area of cells without a fill."""
    rects = [rect for rect in ElementTree.fromstring(drawn).iter(f"{SVG}rect") if "fill:none" in rect.get("style")]
    widest = max(rects, key=lambda rect: float(rect.get("width")))
    return float(widest.get("x")), float(widest.get("x")) + float(widest.get("width"))


def test_a_thousand_numbers_are_drawn_as_a_band_with_the_write_at_its_position():
    drawn = picture.svg(pages.trace("many-elements"))
    words = drawn_text(drawn)
    assert {"0", "999", "0 → 1"} <= set(words) and not {"9", "979"} & set(words)
    ((left, right, dashed),) = heavy_frames(drawn)
    start, end = band_of(drawn)
    assert not dashed
    assert (left - start) / (end - start) == pytest.approx(10 / 1000, abs=0.01)
    # a part that is too narrow is drawn 3 px wide
    assert (right - start) / (end - start) == pytest.approx(20 / 1000, abs=0.03)


def test_a_big_program_folds_untouched_objects():
    words = drawn_text(picture.svg(pages.trace("many-tensors"), step=10))
    assert any("more storages" in word and "w1" in word for word in words)


def test_a_chain_of_equal_operations_is_drawn_as_one_box():
    words = drawn_text(picture.svg(pages.trace("loop"), variant=1, step=41))
    assert "40 × scale_" in words


def test_adjacent_rows_are_one_run_and_many_runs_are_counted():
    words = drawn_text(picture.svg(pages.trace("reach"), step=2, width=1000))
    assert "1,000 runs of one cell" in words
    assert not any("1,000 runs of 1,000 cells" in word for word in words)  # the whole matrix is one run


def test_a_write_to_every_thousandth_cell_is_marked_as_partly_written():
    drawn = picture.svg(pages.trace("reach"), step=2, width=1000)
    ((left, right, dashed),) = heavy_frames(drawn)  # from cell 3 to cell 999,003 of a million
    start, end = band_of(drawn)
    assert dashed and start < left < start + 20 and end - 20 < right < end
    assert heavy_frames(picture.svg(pages.trace("reach"), step=1, width=1000)) == []


def test_repeated_cells_and_tensors_without_cells_are_described():
    trace = pages.trace("reach")
    assert {"each cell 3 times", "some cells several times", "no cells"} <= set(
        drawn_text(picture.svg(trace, width=1000))
    )
    assert "no cells" not in drawn_text(picture.svg(trace, step=5, width=1000))


def test_arrays_of_numpy_are_named_and_a_write_that_increments_no_version_is_marked():
    trace = pages.trace("foreign")
    words = drawn_text(picture.svg(trace, step=3, width=1000))
    assert words.count("numpy") == 2  # at the position where a tensor has its version
    assert "borrowed, 32 B, cpu" in words  # the storage names its device, because the trace has another device
    at_the_write = drawn_text(picture.svg(trace, step=2, width=1000))
    assert "version stays 0" in at_the_write and "version 0 → 1" not in at_the_write
    assert [word for word in drawn_text(picture.svg(trace, width=300)) if word == "numpy array"]


def test_the_saved_tensors_of_a_dropped_operation_are_released():
    data = stage.record(
        """
        x = mt.ones([2])
        x.stop_gradient = False
        a = x * 1
        y = a * a
        y = None
        z = a + 1
        """
    ).data
    assert "saved a@0" in drawn_text(picture.svg(data, step=3))
    after = drawn_text(picture.svg(data, step=4))
    assert "saved a@0" not in after and "released a@0" in after


def test_a_storage_has_the_cells_of_its_variant():
    data = stage.compare({"long": "x = mt.to_tensor([1., 2., 3.])", "short": "x = mt.to_tensor([14.])"}).data
    assert {"1", "2", "3"} <= set(drawn_text(picture.svg(data, 0)))
    words = drawn_text(picture.svg(data, 1))
    assert "14" in words and "·" not in words


# ---------- ids and marks, the script ----------


def groups(svg: str, key: str) -> set[str]:
    return {id_ for node in ElementTree.fromstring(svg).iter() for id_ in node.get(f"data-{key}", "").split()}


def test_the_groups_of_a_picture_have_the_ids_of_the_drawn_objects():
    trace = pages.trace("stale")
    svg = picture.svg(trace, step=3)
    made = [event for step in trace["variants"][0]["steps"][:4] for event in step["events"]]
    ids = {
        what: {event["id"] for event in made if event["do"] == what} for what in ("storage", "tensor", "save", "node")
    }
    assert groups(svg, "storage") == ids["storage"]
    assert groups(svg, "tensor") == ids["tensor"]
    assert groups(svg, "saved") == ids["save"]
    assert groups(svg, "node") == ids["node"]


def test_a_folded_chain_has_the_ids_of_all_its_operations():
    svg = picture.svg(pages.trace("loop"), variant=1, step=41)
    nodes = {
        event["id"]
        for step in pages.trace("loop")["variants"][1]["steps"][:42]
        for event in step["events"]
        if event["do"] == "node"
    }
    assert len(nodes) > 40
    assert nodes <= groups(svg, "node")


def marked(name: str, step: int, **mark: str) -> list[str]:
    """Return the marked ids of storages, tensors, saved tensors and nodes."""
    svg = picture._v8().call("picture", pages.trace(name), {"step": step, "width": 760, "mark": mark})
    found = []
    for mark_ in drawing.marks(svg):
        if mark_.kind == "rect" and mark_.stroke == "focus":
            found.append(" ".join(mark_.owner))
    return found


def test_a_mark_outlines_a_storage_and_all_its_holders():
    assert marked("stale", 2, storage="2") == [
        *("storage 2", "tensor t2", "saved s1 s2", "saved s1 s2"),  # a row of saved tensors has a bar and a box
        "node n2",
    ]
    assert marked("stale", 2, storage="1") == ["storage 1", "tensor t1"]
    assert marked("stale", 2, storage="77") == []


def test_a_mark_of_a_tensor_outlines_only_readers_of_its_cells():
    data = stage.record("x = mt.zeros([1000, 1000])\na = x[::2]\nb = x[1::2]\nc = x[:, 5]").data
    tensors = {
        event["name"]: event["tensor"]
        for step in data["variants"][0]["steps"]
        for event in step["events"]
        if event["do"] == "name"
    }

    def ringed(name: str) -> set[str]:
        svg = picture._v8().call("picture", data, {"step": 3, "width": 760, "mark": {"tensor": tensors[name]}})
        owners = {mark.owner for mark in drawing.marks(svg) if mark.kind == "rect" and mark.stroke == "focus"}
        return {name for name, id_ in tensors.items() if ("tensor", id_) in owners}

    assert ringed("a") == {"x", "a", "c"}  # a and b read different rows
    assert ringed("b") == {"x", "b", "c"}
    assert ringed("x") == ringed("c") == {"x", "a", "b", "c"}


def test_a_missing_step_or_variant_is_refused():
    trace = pages.trace("three")
    with pytest.raises(IndexError):
        picture.svg(trace, step=3)
    with pytest.raises(IndexError):
        picture.svg(trace, variant=3)


def test_the_script_is_small_and_loads_nothing_from_other_hosts():
    source = picture.script_source()
    # the limit of the stage's script alone
    assert len(gzip.compress(source.encode(), mtime=0)) < 52_000
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
    assert hosts <= {"www.w3.org"}  # the namespace of SVG, which a browser does not fetch


def test_the_widget_source_is_the_same_script_with_an_export():
    assert picture.widget_source().startswith(picture.script_source())
    assert "export default" in picture.widget_source()
    assert "export default" not in picture.script_source()
    assert picture.widget_source("zh-CN").startswith(picture.script_source("zh-CN"))


# Programs with much text in a small picture: a number of bytes with a three-letter unit beside a version that has just
# changed, and long names at a node whose saved tensors are overwritten.
OF_MANY_BYTES = "x = mt.ones([1024, 512])\nx.add_(1.0)"
OF_LONG_NAMES = """state = mt.to_tensor([1.0], stop_gradient=False) * 1.0
weight = mt.to_tensor([1.0], stop_gradient=False) * 1.0
loss = state * weight
state.add_(1.0)
weight.add_(1.0)"""


@pytest.mark.parametrize("width", [328, 358])
def test_on_a_phone_no_number_of_bytes_and_no_warning_is_shortened(width):
    texts = drawn_text(picture.svg(stage.record(OF_MANY_BYTES, title="bytes").data, width=width))
    assert "2.0 MiB" in texts and "version 0 → 1" in texts and not any("…" in text for text in texts)
    texts = drawn_text(picture.svg(stage.record(OF_LONG_NAMES, title="names").data, width=width))
    assert "saved: gone" in texts  # the names themselves may be shortened


def test_the_text_about_two_overwritten_tensors_is_in_the_plural():
    short = OF_LONG_NAMES.replace("state", "a").replace("weight", "b")
    reported = drawn_text(picture.svg(stage.record(short, title="short").data))
    assert "a@0, b@0 are gone" in reported
