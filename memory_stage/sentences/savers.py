"""Sentences about the saved tensors in the cells that a write covers. Rules: see ``sentences``.

Each function returns a tuple of equivalent texts, the longest first. The sentence uses the first one that fits.
"""

from __future__ import annotations

from collections.abc import Iterable

from memory_stage.model.changes import Elsewhere, Wrote
from memory_stage.model.entries import NodeEntry
from memory_stage.sentences.words import both, code, node_text, storages_text
from memory_stage.trace.amounts import bytes_text

MOST_NAMED = 2  # savers; of more savers, a sentence has only the number


def stale_text(fact: Wrote | Elsewhere) -> tuple[str, ...]:
    """Describe the saved tensors that a write made stale: their bytes are lost, or only the version changed."""
    lost = [save for save in fact.victims if save.stale == "lost"]
    moved = [save for save in fact.victims if save.stale == "moved"]
    if lost:
        who, one = named_savers(save.node for save in lost)
        refused = f"{code('backward')} through {'it' if one else 'them'} will be refused."
        since = dict.fromkeys(save.version for save in lost)
        which = f"version {lost[0].version}" if len(since) == 1 else "what was there before"
        both_kinds = ""
        if moved:
            others, _ = named_savers(save.node for save in moved)
            both_kinds = (
                f"What {who} saved is gone; for {others} only the version moved: {code('backward')} refuses both."
            )
        return (
            both_kinds,
            f"{who} saved {which}, and those numbers are gone: {refused}",
            f"What {who} saved is gone: {refused}",
            f"{code('backward')} through {who} will be refused.",
        )
    if not moved:
        return ()
    who, _ = named_savers(save.node for save in moved)
    return (
        f"None of the bytes that {who} saved are overwritten, but the version moved: {code('backward')} will be "
        f"refused.",
        f"No byte that {who} saved is overwritten, yet {code('backward')} will be refused.",
        f"{code('backward')} through {who} will be refused.",
    )


def taken_text(fact: Wrote) -> tuple[str, ...]:
    """Describe the saved bytes of a function of the program that a write lost, which backward will not notice."""
    if not fact.taken:
        return ()
    who, _ = named_savers(save.node for save in fact.taken)
    return (
        f"{who} saved what was there before, and no version of it is compared: {code('backward')} will use the new "
        f"numbers and not notice.",
        f"{code('backward')} through {who} will use the new numbers and not notice.",
    )


def preserved_text(fact: Wrote) -> tuple[str, ...]:
    """Describe the bytes that were copied just before the write, under "copy_on_write"."""
    kept = fact.preserved
    if kept is None:
        return ()
    who, one = named_savers(kept.savers or kept.idle)
    need = "needs" if one else "need"
    if not kept.savers:
        return (
            f"What {who} {need} of these cells was copied before, so nothing is copied now.",
            f"What {who} {need} was copied before.",
        )
    if kept.storages[0] in fact.own:
        return (f"{who} {'reads' if one else 'read'} the copy, too.",)
    size = bytes_text(kept.nbytes)
    were = "was" if kept.nbytes == 1 else "were"
    if any(storage.freed for storage in kept.storages):  # joined with bytes that were copied before
        return (
            f"Just before, {size} {were} copied and joined with earlier copies: {who} still {need} them.",
            f"{size} {were} copied for {who}.",
        )
    return (
        f"Just before, {size} {were} copied to {storages_text(kept.storages)}: {who} still {need} them.",
        f"{size} {were} copied first: {who} still {need} them.",
        f"{size} {were} copied for {who}.",
    )


def spared_text(fact: Wrote) -> tuple[str, ...]:
    """Describe savers of other cells of the storage, under "copy_on_write": no copy is made and nothing is refused."""
    if not fact.spared or fact.preserved is not None:
        return ()
    who, _ = named_savers(save.node for save in fact.spared)
    return (
        f"No byte that {who} saved is overwritten, so nothing is copied.",
        f"{who} saved other cells.",
    )


def named_savers(savers: Iterable[NodeEntry | str]) -> tuple[str, bool]:
    """Return the operations, and True if there is only one."""
    texts = [f"an earlier {code(each)}" if isinstance(each, str) else node_text(each) for each in savers]
    texts = list(dict.fromkeys(texts))
    return both(texts) if len(texts) <= MOST_NAMED else f"{len(texts)} operations", len(texts) == 1
