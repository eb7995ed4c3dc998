"""Record in schedules.json the learning rates of each schedule in PyTorch and Paddle, step by step.

python facts/schedules.py torch      in an environment that has torch
python facts/schedules.py paddle

A program is an expression that makes a schedule; `rates` are its rates at the beginning and after each step.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

from recording import Questions, write

STEPS = 14
#: The values of a measure after each step, for schedules that depend on one. It improves, stays, or gets worse.
MEASURES = [1.0, 0.5, 0.5, 0.5, 0.5, 0.49999, 0.6, 0.6, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]

TORCH = {
    "StepLR": "S.StepLR(o, 3, 0.5)",
    "MultiStepLR": "S.MultiStepLR(o, [2, 5], 0.1)",
    "ExponentialLR": "S.ExponentialLR(o, 0.9)",
    "LambdaLR": "S.LambdaLR(o, lambda step: 0.95 ** step)",
    "LinearLR": "S.LinearLR(o, 0.5, 1.0, 4)",
    "CosineAnnealingLR": "S.CosineAnnealingLR(o, 5, 0.01)",
    "ConstantLR": "S.ConstantLR(o, 0.5, 4)",
    "PolynomialLR": "S.PolynomialLR(o, 6, 2.0)",
    "MultiplicativeLR": "S.MultiplicativeLR(o, lambda step: 0.9)",
    "CosineAnnealingWarmRestarts": "S.CosineAnnealingWarmRestarts(o, 4, 2, 0.01)",
    "CosineAnnealingWarmRestarts, as long": "S.CosineAnnealingWarmRestarts(o, 3)",
    "OneCycleLR": "S.OneCycleLR(o, 1.0, total_steps=15)",
    "OneCycleLR, linear": "S.OneCycleLR(o, 1.0, epochs=5, steps_per_epoch=3, anneal_strategy='linear')",
    "OneCycleLR, three phases": "S.OneCycleLR(o, 1.0, total_steps=15, three_phase=True)",
    "SequentialLR": "S.SequentialLR(o, [S.ConstantLR(o, 0.1, 20), S.ExponentialLR(o, 0.9)], [4])",
    "SequentialLR, three": "S.SequentialLR(o, [S.LinearLR(o, 0.1), S.StepLR(o, 2), S.ExponentialLR(o, 0.5)], [3, 9])",
    "ReduceLROnPlateau": "S.ReduceLROnPlateau(o, patience=1)",
    "ReduceLROnPlateau, max": "S.ReduceLROnPlateau(o, 'max', 0.5, 2, cooldown=1, min_lr=0.02)",
    "ReduceLROnPlateau, abs": "S.ReduceLROnPlateau(o, factor=0.5, patience=0, threshold=0.1, threshold_mode='abs')",
    "LambdaLR, a function for each group": "S.LambdaLR(o, [lambda step: 0.95 ** step])",
    "StepLR, a rate set before": "(S.StepLR(o, 3, 0.5), o.param_groups[0].update(lr=0.7))[0]",
    "CosineAnnealingLR, a rate set before": "(S.CosineAnnealingLR(o, 5, 0.01), o.param_groups[0].update(lr=0.7))[0]",
}
#: Schedules that change the present rate, so that an optimizer can have several, which step one after the other.
CHAINED = {
    "StepLR": "S.StepLR(o, 2, 0.5)",
    "MultiStepLR": "S.MultiStepLR(o, [2, 2, 5], 0.5)",
    "ExponentialLR": "S.ExponentialLR(o, 0.9)",
    "LinearLR": "S.LinearLR(o, 0.5, 1.0, 3)",
    "ConstantLR": "S.ConstantLR(o, 0.5, 3)",
    "CosineAnnealingLR": "S.CosineAnnealingLR(o, 5, 0.01)",
    "PolynomialLR": "S.PolynomialLR(o, 6, 2.0)",
    "MultiplicativeLR": "S.MultiplicativeLR(o, lambda step: 0.9)",
    "LambdaLR": "S.LambdaLR(o, lambda step: 0.95 ** step)",
}
TORCH.update(
    (f"{first}, then {second}", f"S.ChainedScheduler([{CHAINED[first]}, {CHAINED[second]}])")
    for first in CHAINED
    for second in CHAINED
)
TORCH.update(
    (f"ConstantLR, in turn with {name}", f"S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), {program}], [4])")
    for name, program in CHAINED.items()
)
#: The schedules in CHAINED, resumed after step 3.
TORCH.update(
    (f"{name}, resumed", f"[o.param_groups[0].update(initial_lr=0.4), {program[:-1]}, last_epoch=3)][1]")
    for name, program in CHAINED.items()
)
PADDLE = {
    "StepDecay": "S.StepDecay(0.1, 3, 0.5)",
    "MultiStepDecay": "S.MultiStepDecay(0.1, [2, 5], 0.1)",
    "ExponentialDecay": "S.ExponentialDecay(0.1, 0.9)",
    "NaturalExpDecay": "S.NaturalExpDecay(0.1, 0.3)",
    "InverseTimeDecay": "S.InverseTimeDecay(0.1, 0.3)",
    "LambdaDecay": "S.LambdaDecay(0.1, lambda step: 0.95 ** step)",
    "MultiplicativeDecay": "S.MultiplicativeDecay(0.1, lambda step: 0.9)",
    "NoamDecay": "S.NoamDecay(16, 4, 0.5)",
    "PiecewiseDecay": "S.PiecewiseDecay([3, 6], [0.1, 0.05, 0.01])",
    "PolynomialDecay": "S.PolynomialDecay(0.1, 5, 0.01, 2.0)",
    "PolynomialDecay, again": "S.PolynomialDecay(0.1, 5, 0.01, 1.0, True)",
    "CosineAnnealingDecay": "S.CosineAnnealingDecay(0.1, 5, 0.01)",
    "LinearWarmup": "S.LinearWarmup(0.1, 4, 0.0, 0.1)",
    "LinearWarmup of a schedule": "S.LinearWarmup(S.ExponentialDecay(0.1, 0.9), 4, 0.0, 0.1)",
    "ReduceOnPlateau": "S.ReduceOnPlateau(0.1, patience=1)",
    "ReduceOnPlateau, max": "S.ReduceOnPlateau(0.1, 'max', 0.5, 2, cooldown=1, min_lr=0.02)",
    "ReduceOnPlateau, abs": "S.ReduceOnPlateau(0.1, factor=0.5, patience=0, threshold=0.1, threshold_mode='abs')",
}
QUESTIONS: Questions = {
    **{f"torch: {name}": ({"torch": program}, []) for name, program in TORCH.items()},
    **{f"paddle: {name}": ({"paddle": program}, []) for name, program in PADDLE.items()},
}


def rates_of(library: str, module: Any, program: str) -> list[float]:
    """Return the rates of a schedule of `module`, which has the names of `library`."""
    if library == "torch":
        optimizer = module.optim.SGD([module.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
        names = {"S": module.optim.lr_scheduler, "o": optimizer}
    else:
        names = {"S": module.optimizer.lr}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedule = eval(program, names)

        def rate() -> float:
            return float(optimizer.param_groups[0]["lr"] if library == "torch" else schedule())

        found = [rate()]
        for measure in MEASURES[:STEPS]:
            schedule.step(measure) if "Plateau" in program else schedule.step()
            found.append(rate())
    return found


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Return the program and its rates."""
    return {"program": program, "rates": rates_of(library, importlib.import_module(library), program)}


if __name__ == "__main__":
    write(Path(__file__).with_name("schedules.json"), QUESTIONS, ask)
