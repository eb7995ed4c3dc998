"""Compare transforms of pictures, normal and in place, with Paddle's recorded numbers; test refused calls, and samples
that are views of a data set.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import minitensor as mt
from book_kit.data.bundled import photographs
from facts.pictures import CASES, answers, picture
from minitensor import memory, torch
from minitensor.io import DataLoader, Dataset, TensorDataset
from minitensor.vision import transforms as T
from tools.build import ROOT

RECORD = json.loads((ROOT / "facts" / "pictures.json").read_text(encoding="utf-8"))["answers"]
KINDS = pytest.mark.parametrize("make", [mt.to_tensor, torch.tensor], ids=["paddle", "torch"])

#: Functions with `inplace=`, each with the memory that it allocates for a write in place: nothing, at most a `grey`
#: copy of the picture, or a copy of the `whole` picture.
CHANGES = {
    "hflip": (T.hflip, "whole"),
    "vflip": (T.vflip, "whole"),
    "brightness": (lambda x, inplace: T.adjust_brightness(x, 1.2, inplace), "nothing"),
    "contrast": (lambda x, inplace: T.adjust_contrast(x, 0.7, inplace), "grey"),
    "saturation": (lambda x, inplace: T.adjust_saturation(x, 0.5, inplace), "grey"),
    "normalize": (lambda x, inplace: T.normalize(x, [0.5, 0.5, 0.4], [0.2, 0.3, 0.4], inplace), "nothing"),
    "instance_normalize": (lambda x, inplace: T.instance_normalize(x, inplace=inplace), "nothing"),
}


@pytest.mark.parametrize("case", CASES)
@KINDS
def test_a_transform_returns_the_numbers_recorded_from_paddle(case, make):
    names = {"T": T, "x": make(picture()), "instance_norm": T.instance_normalize}
    found = answers(names)[case]
    # The tolerance is one or two units in the last place of numbers near 1.
    np.testing.assert_allclose(found, RECORD[case], rtol=0, atol=2e-7)


@pytest.mark.parametrize("name", CHANGES)
@KINDS
def test_in_place_transforms_return_the_same_numbers_and_all_but_flips_allocate_one_picture_less(name, make):
    change, beside = CHANGES[name]
    pictures = photographs()
    x = make(pictures)
    with memory.measure() as apart:
        copy = change(x, inplace=False)
    assert copy.data_ptr() != x.data_ptr() and np.array_equal(x.numpy(), pictures)
    with memory.measure() as inside:
        same = change(x, inplace=True)
    assert same is x and np.array_equal(x.numpy(), copy.numpy())
    assert (x.inplace_version if make is mt.to_tensor else x._version) > 0
    most = {"nothing": 100, "grey": pictures.nbytes, "whole": pictures.nbytes}[beside]
    assert inside.peak <= most
    if beside == "whole":  # a flip in place has to copy values before it overwrites them, so it allocates a copy
        assert inside.peak == apart.peak
    else:
        assert apart.peak - inside.peak >= pictures.nbytes - 100


def test_functions_on_pictures_run_on_the_device_of_the_picture(device):
    start = picture()
    x = mt.to_tensor(start)
    for change, _ in CHANGES.values():
        change(x, inplace=True)
    assert x.place == mt.to_tensor(start).place and np.isfinite(x.numpy()).all()


def test_color_jitter_draws_the_same_factors_for_the_same_seed():
    x = mt.to_tensor(picture())

    def jittered(seed):
        mt.seed(seed)
        return T.color_jitter(x, 0.4, 0.4, 0.4).numpy()

    assert np.array_equal(jittered(1), jittered(1)) and not np.array_equal(jittered(1), jittered(2))
    assert np.array_equal(T.color_jitter(x).numpy(), x.numpy())


class Normalized(Dataset):
    """A data set with a typical mistake: a sample is a view of the pictures, and is normalized in place."""

    def __init__(self, pictures):
        self.pictures = pictures

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        return T.normalize(self.pictures[i], [0.5] * 3, [0.25] * 3, inplace=True)


def test_a_data_set_that_normalizes_its_samples_in_place_returns_other_numbers_in_the_next_epoch():
    pictures = mt.to_tensor(photographs())
    first, second = ([x.numpy() for x in DataLoader(Normalized(pictures))] for _ in range(2))
    assert not np.array_equal(first[0], second[0])
    np.testing.assert_allclose(second[0], (first[0] - 0.5) / 0.25, rtol=1e-5)
    assert pictures.inplace_version == 8  # normalize writes twice, for each of two pictures in each of two epochs


def test_with_share_false_writes_into_samples_do_not_change_the_data():
    pictures = mt.to_tensor(photographs())
    loader = DataLoader(TensorDataset([pictures]), batch_size=None, share=False)
    means = []
    for _ in range(2):
        for (x,) in loader:
            means.append(T.normalize(x, [0.5] * 3, [0.25] * 3, inplace=True).mean().item())
    assert means[:2] == means[2:] and pictures.inplace_version == 0


def test_a_crop_is_a_view_so_a_write_into_it_changes_the_photograph():
    pictures = mt.to_tensor(photographs())
    part = T.crop(pictures, 100, 200, 64, 64)
    T.adjust_brightness(part, 0.0, inplace=True)
    assert pictures[0, 0, 100, 200].item() == 0.0 != pictures[0, 0, 99, 200].item()
    assert pictures.inplace_version == part.inplace_version == 2


def test_backward_of_instance_normalize_in_place_is_right_under_copy_on_write_or_raises():
    start = np.random.default_rng(1).normal(size=(2, 3, 4, 5))

    def gradient(policy, inplace):
        leaf = mt.to_tensor(start, stop_gradient=False)
        with mt.set_inplace_policy(policy):
            y = T.instance_normalize(leaf * 1.0, inplace=inplace)
            (y * y * y).sum().backward()
        return leaf.grad.numpy()

    right = mt.to_tensor(start, stop_gradient=False)
    (mt.nn.functional.instance_norm(right) ** 3).sum().backward()
    np.testing.assert_allclose(gradient("copy_on_write", True), right.grad.numpy(), rtol=1e-9, atol=1e-12)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradient("2.6", True)


def test_the_means_and_deviations_may_be_iterators():
    picture = mt.to_tensor(photographs()[0])
    mean, std = [0.5, 0.25, 0.125], [0.5, 0.25, 2.0]
    assert T.normalize(picture, iter(mean), iter(std)).tolist() == T.normalize(picture, mean, std).tolist()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: T.crop(x, 3, 0, 2, 2), ValueError, "from row 3 and column 0 on are not inside .* 4 x 5"),
        (lambda x: T.normalize(x, [0.5, 0.5], [1.0]), ValueError, "one number for each of 3 channels, not"),
        (lambda x: T.normalize(x, [0.5], [0.0]), ValueError, "std must not contain 0"),
        (lambda x: T.adjust_brightness(x, -1.0), ValueError, "a finite number of at least 0, not -1.0"),
        (lambda x: T.adjust_contrast(x[:2], 1.0), ValueError, r"3 channels, but its shape is \[2, 4, 5\]"),
        (lambda x: T.hflip(x[0]), ValueError, r"\[..., channels, height, width\] of floats"),
        (lambda x: T.vflip(x.numpy()), TypeError, "a picture must be a Tensor .* not ndarray"),
        (lambda x: T.normalize((x * 9).astype("int32"), [0.5], [1.0]), ValueError, "dtype int32"),
    ],
)
def test_transforms_refuse_wrong_arguments(call, error, words):
    x = mt.to_tensor(picture())
    with pytest.raises(error, match=words):
        call(x)
    assert x.inplace_version == 0
