"""Test the jumps through a program and the answers about references to memory, which the script computes in V8."""

from __future__ import annotations

import memory_stage as stage
from memory_stage.web import picture
from tests.support.web import pages


def navigation(name, variant=0, find=""):
    trace = pages.trace(name) if isinstance(name, str) else name
    return picture._v8().call("navigation", trace, {"variant": variant, "find": find})


def answer(name, step, variant=0, **asked):
    trace = pages.trace(name) if isinstance(name, str) else name
    return picture._v8().call("answer", trace, {"variant": variant, "step": step, **asked})


# ---------- events and their steps ----------


def test_each_kind_of_event_is_found_at_its_steps():
    assert navigation("policies")["events"] == {
        "write": [4, 5],
        "allocation": [0, 1, 2, 3, 4, 6],
        "freed": [5],
        "copy": [4],
        "stale": [5],
        "backward": [7],
        "peak": [6],
        "error": [9],
    }


def test_events_that_never_happen_are_not_offered():
    events = navigation("three")["events"]
    assert set(events) == {"allocation", "freed", "peak"}
    assert events["allocation"] == [0, 1]


def test_the_jump_to_the_peak_leads_to_the_first_step_with_the_largest_peak():
    for name in pages.NAMES:
        for number, variant in enumerate(pages.trace(name)["variants"]):
            peaks = [step["peak"] for step in variant["steps"]]
            assert navigation(name, number)["events"]["peak"] == [peaks.index(max(peaks))]


def test_borrowed_memory_is_not_an_allocation():
    trace = pages.trace("three")
    trace["variants"][0]["steps"][0]["events"][0]["borrowed"] = True
    assert navigation(trace)["events"]["allocation"] == [1]
    assert "not counted" in answer(trace, 0, storage="1")


def test_a_text_is_found_in_sentences_code_output_and_errors():
    steps = pages.trace("error")["variants"][0]["steps"]
    printed = next(k for k, step in enumerate(steps) if "out" in step)
    raised = next(k for k, step in enumerate(steps) if any(event["do"] == "raise" for event in step["events"]))
    error = next(event["text"] for event in steps[raised]["events"] if event["do"] == "raise")
    assert printed in navigation("error", find=steps[printed]["out"].strip())["hits"]
    assert navigation("error", find=error[:40].upper())["hits"] == [raised]
    assert navigation("stale", find="SAVED   version 0")["hits"] == [3]  # backticks and spaces are ignored
    assert navigation("stale", find="a.add_(1)")["hits"] == [3]  # this text is in the code
    assert navigation("stale", find="  ")["hits"] == navigation("stale", find="nowhere")["hits"] == []


# ---------- loops ----------


def test_a_loop_is_divided_into_its_passes():
    (loop,) = navigation("loop")["loops"]
    assert (loop["line"], loop["depth"], loop["from"], loop["to"]) == (3, 0, 2, 41)
    assert [one["n"] for one in loop["passes"]] == list(range(1, 41))
    assert [(one["from"], one["to"]) for one in loop["passes"]] == [(k, k) for k in range(2, 42)]


def test_inner_loops_and_repeated_loops_have_separate_passes():
    trace = pages.trace("loop")
    variant = trace["variants"][0]
    reported = [
        None,
        [[1, 1]],
        [[1, 1], [2, 1]],
        [[1, 1], [2, 1]],
        [[1, 1], [2, 2]],
        [[1, 2], [2, 1]],
        [[1, 2], [2, 3]],
    ]
    reported += [[[1, 1]], [[5, 1], [1, 1]], [[5, 1], [1, 1]], None, [[5, 1]]]
    variant["steps"] = variant["steps"][: len(reported)]
    for step, passes in zip(variant["steps"], reported, strict=True):
        step.pop("passes", None)
        if passes:
            step["passes"] = passes
    found = [
        (loop["line"], loop["depth"], [(one["n"], one["from"], one["to"]) for one in loop["passes"]])
        for loop in navigation(trace)["loops"]
    ]
    assert found == [
        (1, 0, [(1, 1, 4), (2, 5, 6)]),
        (2, 1, [(1, 2, 3), (2, 4, 4)]),  # passes inside the first pass of the outer loop
        (2, 1, [(1, 5, 5), (3, 6, 6)]),  # the second pass has no steps
        (1, 0, [(1, 7, 7)]),  # the number of the pass falls, so the loop has begun again
        (5, 0, [(1, 8, 9)]),
        (1, 1, [(1, 8, 9)]),
        (5, 0, [(1, 11, 11)]),
    ]


def test_the_passes_of_a_recorded_program_are_found():
    shown = stage.record(
        """
        def twice(t):
            t.scale_(2.0)
            return t
        x = mt.ones([2])
        for epoch in range(3):
            for batch in range(2):
                twice(x)
            x.add_(1.0)
        """
    )
    loops = navigation(shown.data)["loops"]
    assert [(loop["line"], loop["depth"], len(loop["passes"])) for loop in loops] == [(5, 0, 3)] + [(6, 1, 2)] * 3
    steps = shown.data["variants"][0]["steps"]
    for loop in loops[1:]:
        for number, one in enumerate(loop["passes"], 1):
            lines = [steps[k]["line"] for k in range(one["from"], one["to"] + 1)]
            # the line of the function, and the line of its call
            assert 2 in lines and 7 in lines and 8 not in lines, number


# ---------- holders and readers ----------


def test_the_answer_about_a_storage_says_that_only_one_name_holds_it():
    assert answer("stale", 3, storage="1") == (
        "Storage 1, 12 B, is held by `x`. Nobody else: without `x` it would be freed."
    )


def test_the_answer_about_a_storage_that_backward_needs_mentions_the_operation():
    assert answer("stale", 3, storage="2") == (
        "Storage 2, 12 B, is held by `a` and `multiply` (line 3, saved `a@0`). Without `a` it would stay, for backward."
    )


def test_a_copy_is_held_only_by_its_operation_and_freed_after_backward():
    held = answer("stale", 4, variant=1, storage="4")
    assert held.startswith("Storage 4, 12 B, is held by `multiply` (line 3, keeps a copy of `a@0`). No name reaches it")
    assert answer("stale", 6, variant=1, storage="4") == (
        "Storage 4 was freed at step 6 (line 5). Nobody holds its bytes any more."
    )
    assert answer("stale", 0, variant=1, storage="4") == "Storage 4 does not exist at this step."


def test_the_answers_about_a_mask_and_a_partial_copy_say_what_they_are():
    assert "`abs_` (line 4, keeps marks of `a@0`)" in answer("marks", 3, storage="4")
    trace = pages.trace("preserved")
    number = [variant["label"] for variant in trace["variants"]].index("copy on write")
    storages = [event["id"] for event in trace["variants"][number]["steps"][3]["events"] if event["do"] == "storage"]
    assert "keeps a copy of a part of `h@0`" in answer("preserved", 3, number, storage=storages[0])


def test_the_answers_distinguish_two_names_of_a_tensor_from_two_tensors():
    assert answer("three", 1, variant=2, tensor="t1") == (
        "`x` and `y` name one tensor; it reads 6 cells of storage 1. "
        "Nobody else reads them: a write shows nowhere else."
    )
    assert answer("three", 1, variant=2, storage="1").endswith("It is freed when the last of these goes.")
    assert answer("slice", 3, tensor="t2") == (
        "`b` reads 3 cells of storage 2. Of these, `v` reads 2. A write to a cell shows in all that read it."
    )
    assert "Of these, `b` reads all." in answer("slice", 3, tensor="t3")


def test_a_holder_without_a_name_is_described():
    shown = stage.record("xs = {mt.ones([2])}\nx = 1")
    with_holder = answer(shown.data, 0, storage="1")
    assert "a tensor of shape [2] without a name, which a set holds" in with_holder


def test_cells_that_several_views_read_are_counted_exactly():
    seen = answer("views", 2, tensor="r")
    assert seen.startswith("`r` reads 4 cells of storage 1. Of these, `m` reads all, `t` all and `d` 1.")


def test_views_of_different_cells_are_distinguished():
    shown = stage.record("x = mt.zeros([6])\na = x[0:3]\nb = x[3:6]\nc = x[2:4]\ndel x")
    steps = shown.data["variants"][0]["steps"]
    made = {event["name"]: event["tensor"] for step in steps for event in step["events"] if event["do"] == "name"}
    assert answer(shown.data, len(steps) - 1, tensor=made["a"]) == (
        "`a` reads 3 cells of storage 1. Of these, `c` reads 1. A write to a cell shows in all that read it. "
        "`b` reads other cells of the same storage."
    )


def test_the_answers_about_a_tensor_and_about_its_saved_state_say_that_it_is_stale():
    assert answer("stale", 3, tensor="t2").endswith("numbers were overwritten, so backward will refuse.")
    assert answer("stale", 3, tensor="s1") == (
        "`multiply` (line 3, saved `a@0`) needs 3 cells of storage 2; numbers were overwritten, so backward will "
        "refuse. Of these, `a` reads all."
    )
    trace = pages.trace("policies")
    moved = trace["variants"][0]["steps"][5]["events"]
    (saved,) = [event["ids"][0] for event in moved if event["do"] == "stale" and not event["lost"]]
    assert "the version of the storage has moved" in answer("policies", 5, tensor=saved)


def test_many_references_to_a_storage_are_counted():
    names = ", ".join("abcdefgh")
    shown = stage.record(f"x = mt.ones([2])\n{' = '.join('abcdefgh')} = x")
    said = answer(shown.data, len(shown.data["variants"][0]["steps"]) - 1, storage="1")
    assert "5 more names" in said and names not in said
