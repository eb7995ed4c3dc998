"""Compare the printed output, the random numbers and the errors of `minitensor.torch` with those that
facts/torch_vocabulary.py recorded from PyTorch.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from pathlib import Path

import pytest

from minitensor import torch

FACTS = Path(__file__).parents[3] / "facts"
_spec = importlib.util.spec_from_file_location("torch_vocabulary", FACTS / "torch_vocabulary.py")
asked = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = asked
_spec.loader.exec_module(asked)
RECORD = json.loads((FACTS / "torch-vocabulary.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def restore_print_options_and_grad_mode():
    yield
    torch.set_printoptions(profile="default")
    torch.set_grad_enabled(True)


def test_the_record_contains_the_programs_in_the_file():
    assert {name: entry["program"] for name, entry in RECORD["programs"].items()} == asked.programs()


@pytest.mark.parametrize("name", RECORD["programs"])
def test_a_program_prints_the_same_as_in_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # anomaly detection warns about the line of the operation
        warnings.simplefilter("ignore", FutureWarning)
        printed = asked.printed(RECORD["programs"][name]["program"], torch)
    assert printed.splitlines() == RECORD["programs"][name]["printed"].splitlines()


def test_tensors_print_the_texts_recorded_from_pytorch():
    assert [asked.text_number(i, torch) for i in range(asked.TEXTS)] == RECORD["texts"]


@pytest.mark.parametrize("seed", asked.SEEDS)
def test_random_numbers_equal_those_recorded_from_pytorch(seed):
    drawn = asked.draws(seed, torch)
    for (text, exact), mine, recorded in zip(asked.DRAWS, drawn, RECORD["draws"][str(seed)], strict=True):
        assert mine == (recorded if exact else pytest.approx(recorded, rel=1e-6, abs=1e-6)), text


def test_one_call_of_rand_draws_the_same_numbers_as_several_calls():
    torch.manual_seed(5)
    many = torch.rand(600_000)
    torch.manual_seed(5)
    few = torch.cat([torch.rand(200_000) for _ in range(3)])
    assert torch.equal(many, few)


def test_a_generator_with_a_restored_state_draws_the_same_numbers():
    generator = torch.Generator().manual_seed(3)
    torch.randn(3, generator=generator)  # an odd count, so that the generator caches a number for the next call
    state = generator.get_state()
    first = torch.randn(5, generator=generator).tolist()
    generator.set_state(state)
    assert torch.randn(5, generator=generator).tolist() == first
    assert generator.initial_seed() == 3


@pytest.mark.parametrize(("seed", "error"), [("a", TypeError), (1.5, TypeError), (2**64, RuntimeError)])
def test_a_seed_that_is_no_integer_of_64_bits_is_refused(seed, error):
    with pytest.raises(error, match=r"seed|Overflow"):
        torch.manual_seed(seed)
