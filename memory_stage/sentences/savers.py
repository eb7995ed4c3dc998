"""Sentences about saved tensors whose cells a write covers.

Most functions return a tuple of equivalent texts, the longest first, of which a sentence uses the first that fits.
"""

from __future__ import annotations

from collections.abc import Iterable

from memory_stage.messages import Text, joined, message, plural
from memory_stage.model.changes import BytesPreserved, Elsewhere, Wrote
from memory_stage.model.entries import NodeEntry
from memory_stage.sentences.words import code, node_text, storages_text
from memory_stage.trace.amounts import bytes_message

MOST_NAMED = 2  # the largest number of savers that a sentence names; if there are more, it has only their number


def stale_text(fact: Wrote | Elsewhere) -> tuple[Text, ...]:
    """Describe the saved tensors that a write made stale: their bytes are lost, or only the version changed."""
    lost = [save for save in fact.victims if save.stale == "lost"]
    moved = [save for save in fact.victims if save.stale == "moved"]
    if not moved and not lost:
        return ()
    if lost:
        who, count = named_savers(save.node for save in lost)
        since = dict.fromkeys(save.version for save in lost)
        which = message("version {version}", version=lost[0].version)
        which = which if len(since) == 1 else message("the earlier numbers")
        both_kinds: Text = ""
        if moved:
            others, _ = named_savers(save.node for save in moved)
            both_kinds = message(
                "{savers} lost saved numbers; for {others} only the version moved: `backward` refuses both.",
                savers=who,
                others=others,
            )
        return (
            both_kinds,
            plural(
                "{savers} saved {numbers}, and those numbers are gone: `backward` through it will be refused.",
                "{savers} saved {numbers}, and those numbers are gone: `backward` through them will be refused.",
                count,
                savers=who,
                numbers=which,
            ),
            plural(
                "The saved numbers of {savers} are gone: `backward` through it will be refused.",
                "The saved numbers of {savers} are gone: `backward` through them will be refused.",
                count,
                savers=who,
            ),
            message("`backward` through {savers} will be refused.", savers=who),
        )
    who, _ = named_savers(save.node for save in moved)
    return (
        message(
            "None of the bytes that {savers} saved are overwritten, but the version moved: `backward` will be refused.",
            savers=who,
        ),
        message("No byte that {savers} saved is overwritten, yet `backward` will be refused.", savers=who),
        message("`backward` through {savers} will be refused.", savers=who),
    )


def taken_text(fact: Wrote) -> tuple[Text, ...]:
    """Describe the bytes that a function of the program saved and a write overwrote. Backward will not notice."""
    if not fact.taken:
        return ()
    who, _ = named_savers(save.node for save in fact.taken)
    return (
        message(
            "{savers} saved the earlier numbers without a version to compare: `backward` will silently use the new "
            "ones.",
            savers=who,
        ),
        message("`backward` through {savers} will silently use the new numbers.", savers=who),
    )


def preserved_text(fact: Wrote) -> tuple[Text, ...]:
    """Describe the bytes that were copied before the write under the policy "copy_on_write"."""
    kept = fact.preserved
    if kept is None:
        return ()
    who, count = named_savers(kept.savers or kept.idle)
    if not kept.savers:
        return (
            plural(
                "The cells that {savers} needs were copied earlier, so nothing is copied now.",
                "The cells that {savers} need were copied earlier, so nothing is copied now.",
                count,
                savers=who,
            ),
            plural(
                "The cells that {savers} needs were copied earlier.",
                "The cells that {savers} need were copied earlier.",
                count,
                savers=who,
            ),
        )
    if kept.storages[0] in fact.own:
        return (plural("{savers} reads the copy, too.", "{savers} read the copy, too.", count, savers=who),)
    return _copied(kept, who, count)


def _copied(kept: BytesPreserved, who: Text, count: int) -> tuple[Text, ...]:
    size = bytes_message(kept.nbytes)
    short = plural(
        "{size} was copied for {savers}.", "{size} were copied for {savers}.", kept.nbytes, size=size, savers=who
    )
    if kept.nbytes == 1:
        return (short,)
    if any(storage.freed for storage in kept.storages):  # the new copy was joined with earlier copies
        return (
            plural(
                "Just before, {size} were copied and joined with earlier copies: {savers} still needs them.",
                "Just before, {size} were copied and joined with earlier copies: {savers} still need them.",
                count,
                size=size,
                savers=who,
            ),
            short,
        )
    return (
        plural(
            "Just before, {size} were copied to {storages}: {savers} still needs them.",
            "Just before, {size} were copied to {storages}: {savers} still need them.",
            count,
            size=size,
            storages=storages_text(kept.storages),
            savers=who,
        ),
        plural(
            "{size} were copied first: {savers} still needs them.",
            "{size} were copied first: {savers} still need them.",
            count,
            size=size,
            savers=who,
        ),
        short,
    )


def spared_text(fact: Wrote) -> tuple[Text, ...]:
    """Describe the nodes that saved other cells of the storage, which "copy_on_write" does not copy."""
    if not fact.spared or fact.preserved is not None:
        return ()
    who, _ = named_savers(save.node for save in fact.spared)
    return (
        message("No byte that {savers} saved is overwritten, so nothing is copied.", savers=who),
        message("{savers} saved other cells.", savers=who),
    )


def named_savers(savers: Iterable[NodeEntry | str]) -> tuple[Text, int]:
    """Return a text for the operations that saved tensors, and the number of these operations."""
    texts = {str(text): text for text in map(_saver, savers)}
    named = list(texts.values())
    count = len(named)
    return joined(named) if count <= MOST_NAMED else message("{count} operations", count=count), count


def _saver(saver: NodeEntry | str) -> Text:
    return message("an earlier {operation}", operation=code(saver)) if isinstance(saver, str) else node_text(saver)
