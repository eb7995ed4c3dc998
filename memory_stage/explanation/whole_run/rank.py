"""The rank of this process in a distributed run, and file names that contain the rank."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from memory_stage.messages import message, said


def rank_and_size() -> tuple[int, int]:
    """Return the rank of this process and the number of processes; 0 and 1 for a program that is not distributed.

    They come from the process group that the program has begun, or else from the environment variables that
    ``torchrun`` and other launchers set.
    """
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return (int(rank), int(size)) if rank.isdecimal() and size.isdecimal() else (0, 1)


def rank_words() -> str:
    """Return words that name this process: ``rank 1 of 4``, counted from 0; "" for a single process."""
    rank, size = rank_and_size()
    return said(message("rank {rank} of {size}", rank=rank, size=size)) if size > 1 else ""


def with_rank(file: Path) -> Path:
    """Return the name of this process's file: ``why.rank1.json`` for ``why.json``; unchanged for a single process."""
    rank, size = rank_and_size()
    return file.with_name(f"{file.stem}.rank{rank}{file.suffix}") if size > 1 else file
