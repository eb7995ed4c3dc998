"""scikit-learn's digits, read from its file: importing its code takes 3 s, which tested programs do without."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np


def load_digits() -> SimpleNamespace:
    """What `sklearn.datasets.load_digits` gives: `images` of shape (1797, 8, 8), from 0 to 16, and `target`."""
    package = importlib.util.find_spec("sklearn")
    if package is None or package.origin is None:
        raise ImportError("the digits come with scikit-learn: pip install scikit-learn")
    with gzip.open(Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",")
    return SimpleNamespace(images=rows[:, :64].reshape(-1, 8, 8), target=rows[:, 64].astype(int))
