"""Record in optimizers.json the updates of two parameters by PyTorch's optimizers and schedules in six steps.

python facts/optimizers.py        in an environment that has PyTorch
"""

from __future__ import annotations

from pathlib import Path

#: For each case: its name; the optimizer of `w`; its schedule or None; a change of the gradients before a step or None.
CASES = [
    ("sgd with momentum", "optim.SGD(w, lr=0.1, momentum=0.9, weight_decay=0.01)", None, None),
    ("rmsprop", "optim.RMSprop(w, lr=0.01)", None, None),
    ("rmsprop, centered, with momentum", "optim.RMSprop(w, 0.01, 0.9, 1e-6, 0.1, 0.8, True)", None, None),
    ("adam", "optim.Adam(w, lr=0.01)", None, None),
    ("adamw", "optim.AdamW(w, lr=0.01)", None, None),
    ("steps", "optim.SGD(w, lr=0.1)", "StepLR(optimizer, 2, 0.5)", None),
    ("milestones", "optim.SGD(w, lr=0.1)", "MultiStepLR(optimizer, [1, 4], 0.1)", None),
    ("exponential", "optim.SGD(w, lr=0.1)", "ExponentialLR(optimizer, 0.9)", None),
    ("cosine", "optim.SGD(w, lr=0.1)", "CosineAnnealingLR(optimizer, 4, 0.01)", None),
    ("warm-up", "optim.SGD(w, lr=0.1)", "LinearLR(optimizer, 0.1, 1.0, 4)", None),
    ("a function of the step", "optim.SGD(w, lr=0.1)", "LambdaLR(optimizer, lambda step: 1 / (1 + step))", None),
    ("clipped by norm", "optim.SGD(w, lr=0.1)", None, "nn.utils.clip_grad_norm_(w, 1.0)"),
    ("clipped by the largest", "optim.SGD(w, lr=0.1)", None, "nn.utils.clip_grad_norm_(w, 1.0, float('inf'))"),
    ("clipped by value", "optim.SGD(w, lr=0.1)", None, "nn.utils.clip_grad_value_(w, 0.5)"),
]
STEPS = 6


def answer(torch, number: int) -> dict:
    """Return the parameters after each step, and the rate and the gradients of the step."""
    _, optimizer, schedule, clip = CASES[number]
    w = [
        torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64, requires_grad=True),
        torch.tensor([[0.5], [-0.25]], dtype=torch.float64, requires_grad=True),
    ]
    names = {"optim": torch.optim, "nn": torch.nn, "w": w}
    names["optimizer"] = made = eval(optimizer, names)
    schedules = torch.optim.lr_scheduler
    rate = (
        eval(schedule, {**names, **{name: getattr(schedules, name) for name in dir(schedules)}}) if schedule else None
    )
    steps = []
    for _ in range(STEPS):
        made.zero_grad()
        ((w[0] ** 2).sum() * (w[1] ** 2).sum() + (w[0] * 3).sin().sum()).backward()
        if clip:
            eval(clip, names)
        made.step()
        used = made.param_groups[0]["lr"]
        if rate:
            rate.step()
        steps.append({"rate": used, "w": [x.tolist() for x in w], "gradients": [x.grad.tolist() for x in w]})
    return {"steps": steps}


def main() -> None:
    import torch
    from recording import write_cases

    answers = {name: answer(torch, number) for number, (name, *_) in enumerate(CASES)}
    write_cases(Path(__file__).with_suffix(".json"), "torch", answers)


if __name__ == "__main__":
    main()
