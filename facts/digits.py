"""Read scikit-learn's digits from its file, because importing its code would add 3 s to tested programs."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np


def load_digits() -> SimpleNamespace:
    """Return `images` of shape (1797, 8, 8), from 0 to 16, and `target`, like `sklearn.datasets.load_digits`."""
    package = importlib.util.find_spec("sklearn")
    if package is None or package.origin is None:
        raise ImportError("the digits come with scikit-learn: pip install scikit-learn")
    with gzip.open(Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",")
    return SimpleNamespace(images=rows[:, :64].reshape(-1, 8, 8), target=rows[:, 64].astype(int))
