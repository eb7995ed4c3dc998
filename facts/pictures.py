"""Record in pictures.json the results of Paddle's functions on a picture of random numbers from numpy.

python facts/pictures.py        in an environment that has Paddle 3
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

#: Calls of functions of the transforms `T`, and of `instance_norm`. The picture `x` has 3 channels, 4 rows, 5 columns.
CASES = [
    "T.hflip(x)",
    "T.vflip(x)",
    "T.crop(x, 1, 2, 2, 3)",
    "T.adjust_brightness(x, 1.5)",
    "T.adjust_brightness(x, 0.4)",
    "T.adjust_contrast(x, 1.5)",
    "T.adjust_contrast(x, 0.4)",
    "T.adjust_saturation(x, 1.5)",
    "T.adjust_saturation(x, 0.4)",
    "T.normalize(x, [0.4, 0.5, 0.6], [0.2, 0.3, 0.4])",
    "instance_norm(x.unsqueeze(0))",
]


def picture() -> np.ndarray:
    """Return the picture, as float32."""
    return np.random.default_rng(0).random((3, 4, 5), np.float32)


def answers(names: dict[str, Any]) -> dict[str, list]:
    """Return the answers of a library to each case."""
    return {case: eval(case, names).tolist() for case in CASES}


def main() -> None:
    import paddle
    from paddle.vision import transforms
    from paddle.vision.transforms import functional_tensor
    from recording import write_cases

    transforms.adjust_saturation = functional_tensor.adjust_saturation  # Paddle has no public name for it
    names = {"T": transforms, "x": paddle.to_tensor(picture()), "instance_norm": paddle.nn.functional.instance_norm}
    write_cases(Path(__file__).with_suffix(".json"), "paddle", answers(names))


if __name__ == "__main__":
    main()
