"""Check rarer claims: refusals, in-place changes of shape, borrowed or exchanged memory, custom layers."""

from __future__ import annotations

import itertools
import math
import re

from tests.support.stage.claims import code_in, is_new, named_now, on, same_memory, savers, sees, version_is
from tests.support.stage.truth import Look, Moment, Said, is_amount, rule

# ---------- helpers ----------


def kept_numbers(s: Said) -> bool:
    """True if all storages that exist before and after the step have the same numbers and versions."""
    both = s.before.storages.keys() & s.after.storages.keys()
    return all(
        s.before.storages[n].numbers == s.after.storages[n].numbers
        and s.before.storages[n].version == s.after.storages[n].version
        for n in both
    )


def cells(look: Look) -> list[int]:
    """Return the position of each element of a tensor in its storage, in bytes."""
    shape, strides, start = look.cells
    return [
        start + sum(i * stride for i, stride in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, shape))
    ]


def sizes(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", text))


def tensor_called(moment: Moment, name: str) -> Look | None:
    return moment.tensors.get(moment.names.get(name, 0))


# ---------- refusals ----------


@rule(r"Nothing is written")
def _nothing_written(s, m):
    return kept_numbers(s) and bool(s.error)


@rule(r"<N> is refused: it would write <N>, whose ([\d,]+) elements share ([\d,]+) cells?")
def _shared_cells(s, m):
    places = cells(s.was(m[2]))
    return len(places) == int(m[3]) and len(set(places)) == int(m[4]) and "single memory location" in s.error


@rule(
    r"<N> is refused: it would write (?:a tensor whose elements share cells|<N>, on memory whose cells "
    r"other elements share)"
)
def _shared_memory(s, m):
    return "single memory location" in s.error


@rule(r"<N> is refused: it would write <N>, whose memory is read-only")
def _read_only(s, m):
    return "read-only" in s.error


@rule(r"<N> is refused: it would write a leaf through its view <N> while gradients are recorded")
def _unnamed_leaf(s, m):
    view = named_now(s, m[2])
    return view is not None and view.requires_grad and "eaf" in s.error


@rule(
    r"<N> is refused: it would (?:write|change the shape of) the leaf <N>(?: through its view <N>)? while "
    r"gradients are recorded"
)
def _leaf(s, m):
    leaf = named_now(s, m[2])
    view = leaf if m[3] is None else named_now(s, m[3])
    return leaf.leaf and leaf.requires_grad and view.storage == leaf.storage and "eaf" in s.error


@rule(r"<N> is refused: its result is larger than its target, and a shape never grows in place")
def _grows(s, m):
    return "shape of broadcast output" in s.error


@rule(r"<N> is refused: the dtype of <N> cannot hold its result, and a dtype never changes in place")
def _dtype(s, m):
    return "dtype" in s.error or "float" in s.error


@rule(r'<N> is refused under the policy "2.5"')
def _old_policy(s, m):
    return "2.5" in s.error


@rule(r"<N> needs a saved tensor that has been overwritten, so it raises")
def _overwritten(s, m):
    return "modified by an inplace operation" in s.error


@rule(r"An earlier backward freed the tensors that (<L>) saved, so this one raises")
def _freed_by_an_earlier_backward(s, m):
    op_and_line = re.search(r"`([^`]+)` \(line (\d+)\)", m[0])
    return any((op, str(line), False) == (op_and_line[1], op_and_line[2], keeps) for op, line, keeps in s.after.nodes)


@rule(
    r"(<L>) saved numbers that have been overwritten from outside, so `backward` raises",
    r"(<L>(?: and <L>)?) saved (?:it|them), and the check will notice it: `backward` will be refused",
    r"()The check will notice it: `backward` will be refused",
)
def _written_from_outside(s, m):
    found = savers(s, m[0]) if m[1] else s.after.saved
    if "raises" in m[0]:
        return "written" in s.error
    return any(not each.unchanged for each in found)


# ---------- overwritten saved tensors ----------


@rule(r"No byte that (<L>(?: and <L>)?) saved is overwritten, so nothing is copied")
def _no_byte_saved(s, m):
    found = savers(s, m[1])
    return bool(found) and all(each.intact and each.unchanged for each in found) and not made(s)


@rule(r"None of its bytes were overwritten: only the version moved")
def _only_outdated(s, m):
    return any(not each.intact and each.unchanged for each in s.after.saved)


@rule(
    r"(<L>(?: and <L>)?) lost saved numbers; for (<L>(?: and <L>)?) only the version moved: `backward` "
    r"refuses both"
)
def _some_overwritten_and_some_outdated(s, m):
    gone, _, older = m[0].partition("; for ")
    return any(not each.unchanged for each in savers(s, gone)) and all(
        each.unchanged and not each.intact for each in savers(s, older)
    )


@rule(
    r"The cells that (<L>(?: and <L>)?) needs? were copied earlier, so nothing is copied now",
    r"The cells that (<L>(?: and <L>)?) needs? were copied earlier",
)
def _copied_before(s, m):
    return bool(savers(s, m[1])) and all(each.intact for each in savers(s, m[1])) and not made(s)


def made(s: Said) -> set[str]:
    return s.after.storages.keys() - s.before.storages.keys()


# ---------- shapes, and requires_grad ----------


@rule(r"<N> changes the shape of <N>(?: from \[([^\]]*)\] to \[([^\]]*)\])?")
def _reshaped(s, m):
    was, now = tensor_called(s.before, m[2]), tensor_called(s.after, m[2])
    if m[3] is None:
        return was.cells[0] != now.cells[0]
    return was.cells[0] == sizes(m[3]) != now.cells[0] == sizes(m[4])


@rule(r"<N> changes the shape of <N> from \[([^\]]*)\] to \[([^\]]*)\] and its strides from \[(.*)\] to \[(.*)\]")
def _reshaped_and_restrided(s, m):
    was, now = tensor_called(s.before, m[2]), tensor_called(s.after, m[2])
    memory = s.after.storages[now.storage]
    size = len(memory.numbers) // memory.length
    strides = [tuple(size * each for each in sizes(text)) for text in (m[5], m[6])]
    shapes = [sizes(m[3]), sizes(m[4])]
    return [was.cells[0], now.cells[0]] == shapes and [was.cells[1], now.cells[1]] == strides and shapes[0] != shapes[1]


@rule(r"<N> changes the strides of <N> from \[(.*)\] to \[(.*)\]")
def _restrided(s, m):
    was, now = s.was(m[2]), s.named(m[2])
    memory = s.after.storages[now.storage]
    size = len(memory.numbers) // memory.length
    reported = [tuple(size * each for each in sizes(text)) for text in (m[3], m[4])]
    return [was.cells[1], now.cells[1]] == reported and was.cells[0] == now.cells[0]


@rule(r"It writes nothing: <S> stays at version (\d+)")
def _writes_nothing(s, m):
    return kept_numbers(s) and version_is(s, m[1], m[2])


@rule(r"It writes no cell, but <S> goes from version (\d+) to version (\d+)")
def _raises_the_version_only(s, m):
    before, after = s.before.storages[m[1]], s.after.storages[m[1]]
    return before.numbers == after.numbers and before.version == int(m[2]) < int(m[3]) == after.version


@rule(r"<N> changes neither shape nor strides of <N>")
def _layout_is_unchanged(s, m):
    return s.was(m[2]).cells == s.named(m[2]).cells


@rule(r"Line \d+ changes how <N> reads its storage")
def _reads_its_storage_differently(s, m):
    was, now = s.was(m[1]), s.named(m[1])
    return was.storage == now.storage and was.cells != now.cells


@rule(r"From line \d+ on, <A> (?:is a leaf|are leaves) that requires? a gradient")
def _now_leaves(s, m):
    looks = [(s.was(name), s.named(name)) for name in code_in(m[1])]
    return all(now.leaf and now.requires_grad and not was.requires_grad for was, now in looks)


@rule(r"From line \d+ on, <N> requires no gradient and belongs to no history")
def _no_leaf(s, m):
    return s.was(m[1]).requires_grad and not s.named(m[1]).requires_grad


@rule(r"Under `no_grad` <N> requires no gradient and stays out of the history")
def _stays_out(s, m):
    return not named_now(s, m[1]).requires_grad


@rule(r"A write through the result of <N> will change <N>, and no history will record it")
def _will_change(s, m):
    return named_now(s, m[2]).requires_grad


@rule(r"<N> is a second name for the same tensor")
def _second(s, m):
    key = s.after.names.get(m[1])
    return key is not None and sum(each == key for each in s.after.names.values()) > 1


@rule(r"<A> name new tensors on .*", r"<N> names a new tensor on a new storage .*")
def _new_tensors(s, m):
    reported = m[0].rpartition(" on ")[2]
    looks = [s.named(name) for name in code_in(m[1])]
    new = re.search(r"new storages? ([\d, and]+)", reported)
    for look in looks:
        is_said_to_be_new = new is not None and look.storage in re.findall(r"\d+", new[1])
        if is_said_to_be_new != (look.storage not in s.before.storages):
            return False
    return all(s.after.names[name] not in s.before.tensors for name in code_in(m[1]))


# ---------- borrowed memory, and tensors that change storage ----------


@rule(r"<N> makes the tensor <N> on the ([\d,]+) numbers? of (?:<N>|another owner): nothing is copied")
def _borrows(s, m):
    memory = s.after.storages[s.named(m[2]).storage]
    return memory.counted == 0 and memory.length == int(m[3].replace(",", ""))


@rule(r"Storage (\d+) is borrowed memory: <B> that its owner has allocated")
def _borrowed(s, m):
    memory = s.after.storages[m[1]]
    return is_amount(m[2], memory.nbytes) and s.after.allocated == s.before.allocated


@rule(r"The borrowed memory still belongs to its owner", r"Storage (\d+) is released: its memory was borrowed")
def _owner_keeps_its_memory(s, m):
    gone = s.before.storages.keys() - s.after.storages.keys()
    return s.after.allocated == s.before.allocated and any(s.before.storages[n].counted == 0 for n in gone)


@rule(r"<N> copies the numbers into a separate numpy array")
def _separate_array(s, m):
    return s.after.arrays == s.before.arrays


@rule(r"No tensor is made")
def _no_tensor(s, m):
    return s.after.tensors.keys() == s.before.tensors.keys()


@rule(r"<N> copies the numbers of <N> as \w+ to a new <S>, <B>, at version (\d+)")
def _copied_with_another_dtype(s, m):
    was, now = s.was(m[2]), s.named(m[2])
    return is_new(s, m[3], m[4]) and on(now, m[3]) and version_is(s, m[3], m[5]) and was.numbers == now.numbers


@rule(r"<N> needs (\d+) cells for <N>, so it copies the numbers to a new <S>, <B>, at version (\d+)")
def _needs_more(s, m):
    now = s.named(m[3])
    return is_new(s, m[4], m[5]) and on(now, m[4]) and sees(now) == int(m[2]) and version_is(s, m[4], m[6])


@rule(r"<N> moves <N> to (?:the storage of <N>, )?storage (\d+): nothing is copied")
def _moves_to_another_storage(s, m):
    return on(s.named(m[2]), m[4]) and m[4] in s.before.storages


@rule(r"<N> leaves <N> empty, on a storage of 0 bytes")
def _empty(s, m):
    return math.prod(s.named(m[2]).cells[0]) == 0


@rule(
    r"<N> cannot show these cells in shape \[.*\] without moving them, so it copies them to <S>, <B>",
    r"<N> cannot show these cells in shape \[.*\] without moving them, so it copies them to <S>, <B>, held by the "
    r"running line",
)
def _has_to_copy(s, m):
    return is_new(s, m[2], m[3]) and m[2] in s.after.storages


@rule(
    r"(?:<N>|Then it) saves marks of its input, 1 bit per element, <B> in storages? ([\d, and]+), then writes "
    r"(?:all [\d,]+ cells|the one cell|[\d,]+ cells?) of <S>: version (\d+)"
)
def _marks(s, m):
    kept = re.findall(r"\d+", m[3])
    new = all(number not in s.before.storages for number in kept)
    total = sum(s.after.storages[number].nbytes for number in kept)
    return new and is_amount(m[2], total) and version_is(s, m[4], m[5])


# ---------- custom layers, and lines of several operations ----------


@rule(r"(?:<N> is its result|It has a result), recorded as the output of <N>")
def _made_by_hand(s, m):
    return any(op == m[2] for op, _, _ in s.after.nodes) and (m[1] is None or named_now(s, m[1]).requires_grad)


@rule(r"<N> names it, in <S>")
def _names_it(s, m):
    return on(named_now(s, m[1]), m[2])


@rule(r"Line \d+ runs \d+ operations; no byte is added")
def _many_views(s, m):
    return not made(s)


@rule(r"The program has no statement that touches memory")
def _no_statement(s, m):
    return same_memory(s.before.storages, s.after.storages) and s.after.tensors.keys() == s.before.tensors.keys()
