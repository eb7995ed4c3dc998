"""Test the validation of traces: it finds planted faults, and agrees with a full validator of JSON Schema."""

from __future__ import annotations

import copy
import json

import jsonschema
import pytest

from memory_stage.trace.validation import TraceError, problems, schema, validate
from tests.support.web import pages

FULL_VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_schema_is_a_valid_json_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_object_of_the_schema_is_closed():
    def objects(rule):
        if isinstance(rule, dict):
            if rule.get("type") == "object":
                yield rule
            for part in rule.values():
                yield from objects(part)
        elif isinstance(rule, list):
            for part in rule:
                yield from objects(part)

    found = list(objects(schema()))
    assert len(found) > 20
    assert all("additionalProperties" in rule for rule in found)


@pytest.mark.parametrize("name", pages.NAMES)
def test_the_trace_of_an_example_is_valid(name):
    trace = pages.trace(name)
    assert [error.message for error in FULL_VALIDATOR.iter_errors(trace)] == []
    assert list(problems(trace)) == []
    validate(trace)


def spoiled(change):
    trace = copy.deepcopy(pages.trace("stale"))
    change(trace, trace["variants"][0]["steps"])
    return trace


# Each fault is a name and a function that changes a valid trace, given the trace and the steps of its first variant.
SCHEMA_FAULTS = {
    "an unknown version of the schema": lambda t, s: t.update(schema="stage/2"),
    "no title": lambda t, s: t.pop("title"),
    "a title that is a number": lambda t, s: t.update(title=7),
    "an unknown field of the trace": lambda t, s: t.update(hue=3),
    "an unknown field of a step": lambda t, s: s[0].update(hue=3),
    "an unknown field of an event": lambda t, s: s[0]["events"][1].update(hue=3),
    "no variants": lambda t, s: t.update(variants=[]),
    "no steps": lambda t, s: t["variants"][0].update(steps=[]),
    "line 0": lambda t, s: s[0].update(line=0),
    "True as a line number": lambda t, s: s[0].update(line=True),
    "bytes below zero": lambda t, s: s[0].update(allocated=-1),
    "bytes that are not an integer": lambda t, s: s[0].update(allocated="12"),
    "an unknown phase": lambda t, s: s[0].update(phase="sideways"),
    "an unknown kind of event": lambda t, s: s[0]["events"].append({"do": "paint"}),
    "an event without a kind": lambda t, s: s[0]["events"].append({}),
    "a cell value that is not text": lambda t, s: s[0]["events"][0]["values"].update({"0": 1}),
    "a cell index that is not a number": lambda t, s: s[0]["events"][0]["values"].update({"zero": "1"}),
    "a cell index with a leading zero": lambda t, s: s[0]["events"][0]["values"].update({"01": "1"}),
    "an empty id": lambda t, s: s[0]["events"][1].update(id=""),
    "an id of 65 characters": lambda t, s: s[0]["events"][1].update(id="x" * 65),
    "a range of three numbers": lambda t, s: s[3]["events"][0].update(ranges=[[0, 1, 2]]),
    "an empty list of ranges": lambda t, s: s[3]["events"][0].update(ranges=[]),
    "a shape that is text": lambda t, s: s[0]["events"][1].update(shape="[3]"),
    "a stale event without the field `lost`": lambda t, s: s[3]["events"][1].pop("lost"),
    "a stale event without a saved tensor": lambda t, s: s[3]["events"][1].update(ids=[]),
    "a storage with `borrowed` set to False": lambda t, s: s[0]["events"][0].update(borrowed=False),
    "an array of an unknown library": lambda t, s: s[0]["events"][1].update(outside="abacus"),
    "a write with `unversioned` set to False": lambda t, s: s[3]["events"][0].update(unversioned=False),
    "a loop without the number of its iteration": lambda t, s: s[0].update(passes=[[1]]),
    "iteration 0 of a loop": lambda t, s: s[0].update(passes=[[1, 0]]),
    "an empty list of loops": lambda t, s: s[0].update(passes=[]),
    "a saved tensor with `copy` set to False": lambda t, s: s[2]["events"][5].update(copy=False),
}
OTHER_FAULTS = {
    "two variants with one id": lambda t, s: t["variants"][1].update(id="p26"),
    "a line after the end of the program": lambda t, s: s[0].update(line=6, end=6),
    "a statement that ends before it begins": lambda t, s: s[3].update(end=1),
    "a peak below the bytes allocated": lambda t, s: s[0].update(peak=3),
    "a peak that falls": lambda t, s: s[5].update(peak=36),
    "a write to an unknown storage": lambda t, s: s[3]["events"][0].update(storage="9"),
    "a written cell outside the storage": lambda t, s: s[3]["events"][0]["cells"].update({"3": "1"}),
    "a written range outside the storage": lambda t, s: s[3]["events"][0].update(ranges=[[0, 3]]),
    "a write that does not raise the version": lambda t, s: s[3]["events"][0].update(version=0),
    "an unversioned write that raises the version": lambda t, s: s[3]["events"][0].update(unversioned=True),
    "a loop after the end of the program": lambda t, s: s[0].update(passes=[[1, 1], [6, 1]]),
    "a state whose earlier state does not exist": lambda t, s: next(
        event for event in s[0]["events"] + s[1]["events"] if event["do"] == "state"
    ).update(after="q@0"),
    "an initial value outside the storage": lambda t, s: s[0]["events"][0]["values"].update({"3": "1"}),
    "a tensor on an unknown storage": lambda t, s: s[0]["events"][1].update(storage="9"),
    "a name for an unknown tensor": lambda t, s: s[0]["events"][2].update(tensor="nobody"),
    "two tensors with one id": lambda t, s: s[1]["events"][1].update(id="t1"),
    "strides for another shape": lambda t, s: s[0]["events"][1].update(strides=[1, 1]),
    "a node with an unknown input": lambda t, s: s[1]["events"][4].update(ins=["q@0"]),
    "the removal of an unknown name": lambda t, s: s[4]["events"].append({"do": "unname", "name": "q"}),
    "a storage freed twice": lambda t, s: s[4]["events"].extend([{"do": "free", "tensors": [], "storages": ["3"]}] * 2),
    "a stale event for an id that was never saved": lambda t, s: s[3]["events"][1].update(ids=["s9"]),
    "a copy for an id that was never saved": lambda t, s: t["variants"][1]["steps"][3]["events"][1].update(id="s9"),
    "a copy of cells outside the storage": lambda t, s: t["variants"][1]["steps"][3]["events"][1].update(
        ranges=[[0, 3]]
    ),
    "an event after an error": lambda t, s: s[5]["events"].append({"do": "flight", "bytes": 0}),
    "a run of an unknown node": lambda t, s: s[5]["events"].insert(0, {"do": "run", "node": "n9"}),
}


@pytest.mark.parametrize("fault", SCHEMA_FAULTS)
def test_a_fault_that_violates_the_schema_is_found_by_both_validators(fault):
    trace = spoiled(SCHEMA_FAULTS[fault])
    assert not FULL_VALIDATOR.is_valid(trace)
    assert list(problems(trace))
    with pytest.raises(TraceError, match="trace"):
        validate(trace)


@pytest.mark.parametrize("fault", OTHER_FAULTS)
def test_faults_that_the_schema_cannot_express_are_found(fault):
    trace = spoiled(OTHER_FAULTS[fault])
    assert FULL_VALIDATOR.is_valid(trace), "the fault should not violate the schema"
    assert list(problems(trace))


def test_a_trace_with_a_borrowed_storage_and_an_unversioned_write_is_valid():
    def change(trace, steps):
        steps[0].update(passes=[[1, 1], [2, 7]])
        storage, tensor = steps[0]["events"][:2]
        storage.update(borrowed=True)
        tensor.update(outside="numpy")
        write = steps[3]["events"][0]
        write.update(unversioned=True, version=write["version"] - 1)

    trace = spoiled(change)
    assert FULL_VALIDATOR.is_valid(trace) and list(problems(trace)) == []


@pytest.mark.parametrize("value", [None, 7, "trace", [], {}, {"schema": "stage/1"}])
def test_a_value_that_is_not_a_trace_is_refused(value):
    assert not FULL_VALIDATOR.is_valid(value)
    with pytest.raises(TraceError):
        validate(value)


def test_the_text_of_a_problem_contains_the_path_to_the_faulty_event():
    trace = spoiled(SCHEMA_FAULTS["an unknown field of an event"])
    (problem,) = problems(trace)
    assert problem == "trace.variants[0].steps[0].events[1] (tensor): 'hue' is not known here"


def test_the_json_of_the_examples_contains_no_nan_or_infinity():
    for name in pages.NAMES:
        text = (pages.FOLDER / f"{name}.json").read_text(encoding="utf-8")
        assert json.loads(text, parse_constant=pytest.fail)  # `json` calls it for NaN and Infinity, which are not JSON
