"""Real data that needs no download, because scikit-learn contains the files.

The 1,797 digits, which 43 people wrote, are scans of 8 x 8 pixels (Alpaydin and Kaynak 1998, UCI repository).
The two photographs, `china.jpg` and `flower.jpg`, have 427 x 640 pixels. The files are read without scikit-learn's
code, because importing that code takes 2 s, and reading the files takes 0.1 s.
"""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np


def digits(held_out: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return scans (float32 from 0 to 1, of shape [scans, 1, 8, 8]) and the digit on each (int64, of shape [scans]).

    Args:
        held_out: True to return every fifth scan, 360 in all; False to return the 1,437 others.

    Raises:
        ImportError: if scikit-learn is not installed.
    """
    with gzip.open(_sklearn_file("data/digits.csv.gz"), "rt") as file:
        rows = np.loadtxt(file, delimiter=",")  # each row has 64 pixels from 0 to 16, and the digit
    rows = rows[(np.arange(len(rows)) % 5 == 0) == held_out]
    return (rows[:, :64].reshape(-1, 1, 8, 8) / 16).astype(np.float32), rows[:, 64].astype(np.int64)


def photographs() -> np.ndarray:
    """Return the two photographs in colour, float32 from 0 to 1, of shape [2, 3, 427, 640].

    Raises:
        ImportError: if scikit-learn or Pillow is not installed.
    """
    from PIL import Image

    found = np.stack([np.asarray(Image.open(_sklearn_file(f"images/{name}.jpg"))) for name in ("china", "flower")])
    return (found.transpose(0, 3, 1, 2) / np.float32(255)).astype(np.float32, order="C")


def _sklearn_file(name: str) -> Path:
    """Return the path of a file in ``sklearn.datasets``."""
    package = importlib.util.find_spec("sklearn")
    if package is None or package.origin is None:
        raise ImportError(
            "The digits and the photographs come with scikit-learn: `pip install scikit-learn`, or "
            '`pip install "minitensor[book]"`.'
        )
    return Path(package.origin).parent / "datasets" / name
