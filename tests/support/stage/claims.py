"""Check each claim of a sentence against the memory before and after its step."""

from __future__ import annotations

import math
import re
from typing import Any

from tests.support.stage.truth import Look, Memory, Said, amount, is_amount, rule

# ---------- helpers ----------


def code_in(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def same_memory(a: dict[str, Memory], b: dict[str, Memory]) -> bool:
    return {k: (m.version, m.numbers) for k, m in a.items()} == {k: (m.version, m.numbers) for k, m in b.items()}


def named_now(s: Said, name: str) -> Look | None:
    """Return the tensor of a name after this step or the next one or, for a deleted name, before this step."""
    return s.named(name) or (s.then.tensors.get(s.then.names.get(name, 0)) if s.then else None) or s.was(name)


def changed_cells(s: Said, number: str) -> int:
    a, b = s.before.storages.get(number), s.after.storages.get(number)
    if a is None or b is None or not a.length:
        return 0
    size = len(a.numbers) // a.length
    pairs = zip(range(0, len(a.numbers), size), range(a.length), strict=True)
    return sum(a.numbers[at : at + size] != b.numbers[at : at + size] for at, _ in pairs)


def counts(s: Said, cells: str, number: str) -> bool:
    """True if the number of written cells that a sentence claims is possible.

    Writing a number again changes no cell. So the claimed number is possible if it is at least the number of changed
    cells, and at most the number of cells of the storage.
    """
    memory = s.after.storages.get(number) or s.before.storages.get(number)
    if memory is None:
        return True  # the storage was allocated and freed in this step
    numbers = [int(each.replace(",", "")) for each in re.findall(r"[\d,]+", cells)]
    if cells.startswith("all"):
        reported = numbers[0]
        return reported == memory.length
    if cells == "the one cell":
        return memory.length == 1
    if re.fullmatch(r"cells? [\d,]+( to [\d,]+)?", cells):
        reported = numbers[-1] - numbers[0] + 1
    else:
        reported = 0 if cells == "no cell" else numbers[0]
    return changed_cells(s, number) <= reported <= memory.length


def version_is(s: Said, number: str, version: str) -> bool:
    memory = s.after.storages.get(number)
    return memory is None or memory.version == int(version)


def version_reached(s: Said, number: str, version: str) -> bool:
    """True if the version is one of those that several writes in a line produce."""
    memory, old = s.after.storages.get(number), s.before.storages.get(number)
    if memory is None:
        return True
    return (old.version if old else -1) < int(version) <= memory.version


def is_new(s: Said, number: str, reported: str | None = None) -> bool:
    if not s.before.numbered < int(number) <= s.after.numbered:
        return False
    memory = s.after.storages.get(number)
    return memory is None or reported is None or is_amount(reported, memory.nbytes)


def freed(s: Said, number: str, reported: str | None = None) -> bool:
    old = s.before.storages.get(number)
    existed = old is not None or s.before.numbered < int(number) <= s.after.numbered
    gone = existed and number not in s.after.storages
    return gone and (reported is None or old is None or is_amount(reported, old.counted))


def on(look: Look | None, number: str) -> bool:
    return look is not None and look.storage == number


def savers(s: Said, text: str) -> list[Any]:
    """Return the tensors that the operations in ``text`` have saved and that are alive after the step."""
    named = re.findall(r"`([^`]+)` \(line (\d+)\)", text)
    return [
        each
        for each in s.after.saved
        for op, line in named
        if each.line == int(line) and spelled(each.op) == spelled(op)
    ]


#: Maps PyTorch's name of an operation to the engine's name.
_WORDS = {"multiply": "mul", "subtract": "sub", "divide": "div", "clip": "clamp"}


def spelled(op: str) -> str:
    return _WORDS.get(op.removesuffix("_"), op.removesuffix("_"))


def sees(look: Look) -> int:
    """Return the number of elements that a tensor shows."""
    return math.prod(look.cells[0])


# ---------- storages ----------


@rule(r"<N> names a numpy array on <S>, the memory of <N>: no number is copied")
def _array(s, m):
    return s.after.arrays.get(m[1]) == m[2] and on(named_now(s, m[3]), m[2])


@rule(r"<N> names a numpy array on <S>: no number is copied")
def _array_alone(s, m):
    memory = s.after.storages.get(m[2])
    named = memory is not None and any(key in memory.tensors for key in s.after.names.values())
    return s.after.arrays.get(m[1]) == m[2] and not named


@rule(r"Writes through the array do not raise the version")
def _array_writes_raise_no_version(s, m):
    return bool(s.after.arrays)


@rule(
    r"<N> allocates <S>, <B>, for the tensor <N>",
    r"<N> allocates <S>, <B>, for the tensor <N>, held by the running line",
)
def _made_named(s, m):
    _, number, reported, name = m.groups()
    return is_new(s, number, reported) and on(named_now(s, name), number)


@rule(r"<N> allocates <S>, <B>, for a new tensor", r"<N> allocates <S>, <B>", r"Line \d+ allocates <S>, <B>")
def _made(s, m):
    number, reported = m.groups()[-2:]
    return is_new(s, number, reported)


@rule(r"<N> allocates <S>, <B>, for a new tensor, held by the running line")
def _made_held(s, m):
    number = m[2]
    memory = s.after.storages.get(number)
    named = {name for name, key in s.after.names.items() if memory is not None and key in memory.tensors}
    # a value from a generator gets its name at the start of the next step
    return is_new(s, number, m[3]) and all(" in " not in name and name not in s.before.names for name in named)


@rule(r"Line \d+ allocates <S>, ([\d,]+) numbers? in <B>, for a tensor of shape \[(.*)\]")
def _made_from_nothing(s, m):
    number, count, reported, shape = m.groups()
    memory = s.after.storages.get(number)
    if not is_new(s, number, reported) or memory is None:
        return memory is None
    shapes = [str(list(s.after.tensors[x].cells[0]))[1:-1] for x in memory.tensors]
    return memory.length == int(count.replace(",", "")) and (not shapes or shape in shapes)


@rule(r"Line \d+ makes a leaf: <N> requires a gradient, and <S> holds its ([\d,]+) numbers?, <B>")
def _made_leaf(s, m):
    name, number, count, reported = m.groups()
    look, memory = named_now(s, name), s.after.storages.get(number)
    return (
        on(look, number)
        and look.leaf
        and look.requires_grad
        and is_amount(reported, memory.nbytes)
        and memory.length == int(count)
    )


@rule(r"Nothing names the tensor, so both are freed at once", r"Nothing names it, so it is freed at once")
def _not_named(s, m):
    number = re.search(r"storage (\d+)", s.text)[1]
    return number not in s.after.storages


@rule(
    r"<N> copies ([\d,]+) numbers? into a new <S>, <B>",
    r"<N> copies ([\d,]+) numbers? into a new <S>, <B>, held by the running line",
)
def _cloned(s, m):
    return is_new(s, m[3], m[4])


@rule(
    r"(?:S|s)torage (\d+) is freed(?: again: nothing needs it)?(?:: <B>)?",
    r"(?:S|s)torage (\d+), its (?:copy|marks|index), is freed: <B>",
)
def _freed(s, m):
    return freed(s, m[1], m[2] if m.lastindex and m.lastindex > 1 else None)


@rule(
    r"(?:S|s)torages? (.*?)(?:, (?:its copies|its marks|saved for backward),)? (?:is|are) freed(?: again: "
    r"nothing needs them)?(?:: <B>)?"
)
def _all_freed(s, m):
    return all(freed(s, number) for number in re.findall(r"\d+", m[1]))


@rule(r"(\d+) (?:storages|of them) are freed(?: again: nothing needs them)?(?:: <B>)?")
def _many_freed(s, m):
    gone = s.before.storages.keys() - s.after.storages.keys()
    reported = m[2]
    within = "again" in m[0] or "allocates" in s.text or "hook" in s.text or "calls" in s.text or "runs" in s.text
    if within:
        remain = len(s.after.storages.keys() - s.before.storages.keys())
        return len(gone) <= int(m[1]) <= len(gone) + s.after.numbered - s.before.numbered - remain
    return len(gone) == int(m[1]) and (
        reported is None or is_amount(reported, sum(s.before.storages[g].counted for g in gone))
    )


@rule(r"(?:S|s)torage (\d+) stays, because (.*)", r"It stays, because (.*)")
def _stays(s, m):
    why = m.groups()[-1]
    number = m[1] if m.lastindex > 1 else ""
    if number and number not in s.after.storages:
        return False
    if " saved it for backward" in why:
        return any(each.storage == number for each in savers(s, why))
    if "numpy array" in why:
        return s.after.arrays.get(code_in(why)[0]) == number
    if "still uses it" in why:
        return on(s.named(code_in(why)[0]), number)
    if "the recording does not show" in why:
        return not s.after.storages[number].tensors and number not in s.after.arrays.values()
    if "borrows its memory" in why:
        return s.after.storages[re.search(r"storage (\d+)", why)[1]].counted == 0
    return "holds" in why and (not number or bool(s.after.storages[number].tensors))


@rule(r"A tensor is freed; its storage stays", r"A tensor is gone", r"its storage stays")
def _tensor_gone(s, m):
    gone = s.before.tensors.keys() - s.after.tensors.keys()
    return bool(gone) and any(s.before.tensors[x].storage in s.after.storages for x in gone)


@rule(r"Line \d+ frees tensors that nothing names any more")
def _frees_unnamed_tensors(s, m):
    return bool(s.before.tensors.keys() - s.after.tensors.keys())


@rule(
    r"(?:Line \d+|<N>) touches no tensor, so memory does not change",
    r"Memory does not change",
    r"Line \d+ prints and changes no memory",
)
def _nothing(s, m):
    return same_memory(s.before.storages, s.after.storages) and s.before.tensors.keys() == s.after.tensors.keys()


@rule(r"No byte is added", r"No tensor, no storage and no byte is added", r"No number is copied", r"no byte is added")
def _no_byte(s, m):
    return not s.after.storages.keys() - s.before.storages.keys()


@rule(r"Line \d+ runs (\d+) operations: (.*)")
def _runs(s, m):
    new = [memory for number, memory in s.after.storages.items() if number not in s.before.storages]
    made = re.search(r"(\d+) new storages?, ([\d,.]+ \w+)", m[2])
    writes = re.search(r"(\d+) writes?", m[2])
    count, numbered = int(made[1]) if made else 0, s.after.numbered - s.before.numbered
    size = sum(memory.nbytes for memory in new)
    old = {number: memory.version for number, memory in s.before.storages.items()}
    raised = sum(memory.version - old.get(number, 0) for number, memory in s.after.storages.items())
    all_remain = numbered == len(new) and old.keys() <= s.after.storages.keys()
    return (
        int(m[1]) > 3
        and count == numbered
        and (not made or (is_amount(made[2], size) if all_remain else amount(made[2])[0] >= size))
        and (raised == int(writes[1] if writes else 0) or (not all_remain and raised < int(writes[1])))
    )


@rule(r"The GPU's allocator keeps them for later: <B> stay reserved")
def _reserved(s, m):
    return is_amount(m[1], s.after.reserved)


@rule(r"Line \d+ returns <B> of reserved memory that held no tensor: ([\d,.]+(?: \w+)?) stay reserved")
def _reserved_memory_is_returned(s, m):
    return is_amount(m[1], s.before.reserved - s.after.reserved)


@rule(r"Allocated memory does not change")
def _allocated_stays(s, m):
    return s.before.storages.keys() == s.after.storages.keys()


# ---------- views ----------


@rule(r"<N> makes a second tensor on <S>: no number is copied, no byte is added", r"<N> makes a view on <S>")
def _view(s, m):
    memory = s.before.storages.get(m[2]) or s.after.storages.get(m[2])
    return memory is not None or "allocates storage" in s.text


@rule(r"(?:<N>|The loop in line \d+) makes a tensor on ([\d,]+) of the ([\d,]+) cells of <S>(?:: <N> for this round)?")
def _part(s, m):
    memory = s.after.storages.get(m[4])
    if memory is None:
        return int(m[4]) <= s.after.numbered
    sizes = {sees(s.after.tensors[x]) for x in memory.tensors if x not in s.before.tensors}
    return memory.length == int(m[3].replace(",", "")) and (not sizes or int(m[2].replace(",", "")) in sizes)


@rule(r"<N> makes a tensor whose ([\d,]+) elements share ([\d,]+) cells? of <S>")
def _expanded(s, m):
    here = s.after.storages.get(m[4])
    return here is not None and any(
        sees(s.after.tensors[x]) == int(m[2].replace(",", "")) for x in here.tensors if x not in s.before.tensors
    )


@rule(r"(?:<N>|The loop in line \d+) makes (\d+) tensors on <S>(?:, .*)?: no number is copied")
def _views(s, m):
    return m[3] in s.after.storages


@rule(r"<N> and <N> read the same cells")
def _same_cells(s, m):
    a, b = named_now(s, m[1]), named_now(s, m[2])
    return a is not None and b is not None and a.storage == b.storage


@rule(r"<A> share one history from now on")
def _one_history(s, m):
    looks = [named_now(s, name) for name in code_in(m[1])]
    return all(looks) and len({look.group for look in looks}) == 1 and looks[0].group != 0 and looks[0].requires_grad


@rule(r"<A> share nothing")
def _share_nothing(s, m):
    looks = [named_now(s, name) for name in code_in(m[1])]
    *given, made = looks
    return all(looks) and all(look.storage != made.storage for look in given)


@rule(
    r"<N> makes a second tensor on <S>, one that requires no gradient",
    r"<N> makes a second tensor on <S>, with its own version counter",
)
def _detached(s, m):
    looks = [s.after.tensors[x] for x in s.after.storages[m[2]].tensors if x not in s.before.tensors]
    return not looks or any(not look.requires_grad for look in looks)


@rule(r"A write through <N> will change <N>, and no history will record it")
def _will_change(s, m):
    a, b = named_now(s, m[1]), named_now(s, m[2])
    return a is not None and b is not None and a.storage == b.storage and not a.requires_grad and b.requires_grad


@rule(r"Neither version nor history will record a write through <N>")
def _writes_are_not_recorded(s, m):
    return named_now(s, m[1]) is not None


# ---------- names ----------


@rule(r"<N> is a name for that tensor")
def _a_name(s, m):
    return on(named_now(s, m[1]), re.search(r"storage (\d+)", s.text)[1])


@rule(r"<N> (?:is a name for|becomes a second name for|now names|names|is another name for) the tensor of <N>")
def _second_name(s, m):
    for moment in (s.after, s.then):
        if moment is not None and moment.names.get(m[1]) == moment.names.get(m[2]) is not None:
            return True
    # the line may have deleted the other name
    return s.after.names.get(m[1]) == s.before.names.get(m[2]) is not None


@rule(r"<N> is a name for the tensor of <N> and <N> is a name for the tensor of <N>")
def _second_names(s, m):
    names, one, other, another = s.after.names, *m.groups()[1:]
    return names.get(m[1]) == names.get(one) is not None and names.get(other) == names.get(another) is not None


@rule(r"<A> are further names for the tensors? of <A>")
def _further(s, m):
    known = {s.after.names.get(name) for name in code_in(m[2])}
    return all(s.after.names.get(name) in known for name in code_in(m[1])) and None not in known


@rule(
    r"<A> names? (?:its return values?|a tensor that it made|tensors that it made)",
    r"<A> (?:is a tensor|are tensors) in its result",
    r"<N> names a tensor that it received",
)
def _is_bound(s, m):
    return all(named_now(s, name) and s.after.names.get(name) != s.before.names.get(name) for name in code_in(m[1]))


@rule(r"<A> names? (?:an existing tensor|existing tensors)", r"<A> are names for existing tensors")
def _names_existing(s, m):
    return all(s.after.names[name] in s.before.tensors for name in code_in(m[1]))


@rule(r"<N> names the last result", r"<N> names a new tensor on <S>")
def _names_new(s, m):
    key = s.after.names[m[1]]
    return key not in s.before.tensors and (m.lastindex == 1 or on(s.named(m[1]), m[2]))


@rule(r"<A> names? the same tensor")
def _names_the_same(s, m):
    keys = {s.after.names[name] for name in code_in(m[1])}
    return len(keys) == 1 and sum(key in keys for key in s.after.names.values()) > 1


@rule(r"<N> names the tensor on <S>")
def _names_on(s, m):
    return on(named_now(s, m[1]), m[2])


@rule(r"<N> moves to it", r"<N> moves to the new tensor")
def _moves(s, m):
    return s.before.names.get(m[1]) != s.after.names.get(m[1])


@rule(r"<N> still names the old tensor")
def _still_names(s, m):
    return s.after.names.get(m[1]) is not None and s.after.names.get(m[1]) == s.before.names.get(m[1])


@rule(
    r"(?:<N>|Line \d+) removes the last name of a (?:tensor|numpy array), so <S> is freed at once: <B> fewer are "
    r"allocated"
)
def _last_name(s, m):
    return freed(s, m[2], m[3])


@rule(
    r"(?:<N>|Line \d+) removes a name and its (?:tensor|numpy array)",
    r"(?:<N>|Line \d+) removes the last name of a (?:tensor|numpy array)",
    r"(?:<N>|Line \d+) removes a name",
)
def _removes_a_name(s, m):
    return any(s.after.names.get(name) != key for name, key in s.before.names.items()) or "numpy" in m[0]


@rule(r"The (?:tensor|numpy array) and its storage stay, because <A> still names? it")
def _still(s, m):
    keys = {s.after.names.get(name) for name in code_in(m[1])}
    return len(keys) == 1 and None not in keys


@rule(r"<A> are deleted")
def _gone(s, m):
    old, now = s.before.names | s.before.arrays, s.after.names | s.after.arrays
    return all(name in old and now.get(name) != old[name] for name in code_in(m[1]))


@rule(r"Their storages stay, because other objects still hold them")
def _stay(s, m):
    return not s.before.storages.keys() - s.after.storages.keys()


@rule(r"The notebook keeps (?:it|<N>) as its output, `_`")
def _output(s, m):
    kept = s.after.names.get("_")
    if m[1] is None:
        return kept is not None and kept not in s.before.tensors
    return kept is not None and kept == s.after.names.get(m[1])


# ---------- writes ----------


@rule(
    r"(?:Under `no_grad` (?:a leaf may be written|nothing is recorded): )?(?:<N>|(?:Line|line) \d+) writes "
    r"<C> of <S>, which goes from version (\d+) to version (\d+)(?:, and leaves no history)?(?:, and "
    r"returns <N> itself: <N> is a second name for the same tensor)?"
)
def _wrote(s, m):
    _, cells, number, before, after, returned, second = m.groups()
    old = s.before.storages.get(number)
    if returned is not None and s.after.names.get(returned) != s.after.names.get(second):
        return False
    return counts(s, cells, number) and version_is(s, number, after) and (old is None or old.version == int(before))


@rule(
    r"(?:Under `no_grad` (?:a leaf may be written|nothing is recorded): )?(?:<N>|(?:Line|line) \d+|Then "
    r"it) writes <C> of <S> through <N>(?:: version (\d+))?(?:, and leaves no history)?"
)
def _wrote_through(s, m):
    _, cells, number, through, version = m.groups()
    look = named_now(s, through)
    if look is not None and not cells.startswith(("all", "the", "cell")) and sees(look) < int(cells.split()[0]):
        return False
    return counts(s, cells, number) and (version is None or version_is(s, number, version)) and on(look, number)


@rule(r"(?:<N>|Then it) writes <C> of <S>: version (\d+)")
def _then_wrote(s, m):
    return counts(s, m[2], m[3]) and version_is(s, m[3], m[4])


@rule(
    r"(?:<N>|(?:Line|line) \d+) writes <C> of <S>(?: through <N>)?, now at version (\d+)(?:, and returns "
    r"<N> itself: <N> is a second name for the same tensor)?"
)
def _wrote_now(s, m):
    return counts(s, m[2], m[3]) and version_is(s, m[3], m[5])


@rule(r"<N> writes <C> of <S>, version (\d+)")
def _wrote_briefly(s, m):
    return counts(s, m[2], m[3]) and version_reached(s, m[3], m[4])


@rule(
    r"<N> writes <C> of <S> through (?:<N>|the result of `data`), which has its own version counter: "
    r"storage (\d+) stays at version (\d+)",
    r"<N> writes <C> of <S>, version unchanged()()()",
    r"()other code writes <C> of <S>, version unchanged()()()",
    r"()Line \d+ writes <C> of <S> from outside, but the version stays ()()(\d+)",
)
def _unversioned(s, m):
    old, now = s.before.storages.get(m[3]), s.after.storages.get(m[3])
    return (
        counts(s, m[2], m[3])
        and now is not None
        and (old is None or old.version == now.version)
        and (not m[6] or now.version == int(m[6]))
    )


@rule(r"<N> needs its input for backward, so it first copies <B> to <S>")
def _copied_first(s, m):
    return is_new(s, m[3], m[2]) and any(each.storage == m[3] for each in s.after.saved)


@rule(r"<N> writes (\d+) storages(?:, of .*)?, and each version increases by 1")
def _wrote_several(s, m):
    stepped = [
        n
        for n, now in s.after.storages.items()
        if n in s.before.storages and now.version > s.before.storages[n].version
    ]
    made = s.after.storages.keys() - s.before.storages.keys()
    by_one = all(s.after.storages[n].version == s.before.storages[n].version + 1 for n in stepped)
    return by_one and len(stepped) <= int(m[2]) <= len(stepped) + len(made)


@rule(r"<N> makes (\d+) writes to <S>: version (\d+)")
def _wrote_repeatedly(s, m):
    old = s.before.storages.get(m[3])
    return version_is(s, m[3], m[4]) and (old is None or int(m[4]) - old.version == int(m[2]))


@rule(r"<A> sees? the new numbers?(?:, too)?")
def _sees(s, m):
    written = re.findall(r"writes .*? of storage (\d+)", s.text)
    looks = {name: named_now(s, name) for name in code_in(m[1])}
    return all(look.storage in written if look else s.after.arrays.get(name) in written for name, look in looks.items())


@rule(r"<N> changes too, but its history does not record it")
def _changes_with_it(s, m):
    look = named_now(s, m[1])
    return (
        look is not None and look.requires_grad and look.storage in re.findall(r"writes .*? of storage (\d+)", s.text)
    )


@rule(r"(?:<N>|Its operand) reads (?:it|them|\d+ of them) before anything is written")
def _reads_first(s, m):
    written = re.search(r"writes .*? of storage (\d+)", s.text)[1]
    return m[1] is None or on(named_now(s, m[1]), written)


@rule(r"From now on <N> has a history and requires a gradient")
def _has_history(s, m):
    return s.named(m[1]).requires_grad and not s.was(m[1]).requires_grad


@rule(r"The write joins the history they share, so <N> gets a new state, too")
def _gets_a_new_state(s, m):
    return s.named(m[1]).group != 0


@rule(
    r"(<L>(?: and <L>)?) saved (?:version (\d+)|the earlier numbers), and those numbers are gone: "
    r"`backward` through (?:it|them) will be refused",
    r"The saved numbers of (<L>(?: and <L>)?) are gone: `backward` through (?:it|them) will be refused",
    r"`backward` through (<L>(?: and <L>)?) will be refused",
    r"None of the bytes that (<L>(?: and <L>)?) saved are overwritten, but the version moved: `backward` will be "
    r"refused",
    r"No byte that (<L>(?: and <L>)?) saved is overwritten, yet `backward` will be refused",
)
def _stale(s, m):
    found = savers(s, m[1])
    says_unchanged = any(word in m[0] for word in ("None of the bytes", "No byte"))
    return any(not each.intact and (each.unchanged or not says_unchanged) for each in found)


@rule(
    r"(\d+) operations saved (?:version (\d+)|the earlier numbers), and those numbers are gone: "
    r"`backward` through them will be refused",
    r"(?:The saved numbers of (\d+) operations are gone: )?`backward` through (?:(\d+) operations|them) will be "
    r"refused",
)
def _many_stale(s, m):
    count = next((int(each) for each in m.groups() if each), 1)
    return sum(not each.intact for each in s.after.saved) >= count


@rule(
    r"Just before, <B> were copied to <S>: (<L>) still needs? them",
    r"Just before, <B> were copied to <S>: (<L> and <L>) still need them",
    r"Just before, <B> were copied and joined with earlier copies(): (<L>(?: and <L>)?) still needs? them",
    r"<B> were copied first(): (<L>(?: and <L>)?) still needs? them",
    r"<B> were copied for ()(<L>(?: and <L>)?)",
)
def _preserved(s, m):
    new = not m[2] or is_new(s, m[2], m[1])
    return new and bool(savers(s, m[3])) and all(each.intact for each in savers(s, m[3]))


@rule(r"(<L>(?: and <L>)?) reads? the copy, too")
def _reads_copy(s, m):
    copy = re.search(r"copies .*? to storage (\d+)", s.text)[1]
    found = savers(s, m[1])
    return all(each.intact for each in found) and any(each.storage == copy for each in found)


@rule(
    r"(<L>(?: and <L>)?|\d+ operations) saved (?:it|them): `backward` will silently use the new ones?",
    r"`backward` through (<L>|<L> and <L>|\d+ operations) will not notice",
    r"`backward` will not notice()",
)
def _unnoticed(s, m):
    return any(each.intact for each in (savers(s, m[1]) if "line" in m[1] else s.after.saved))


# ---------- saving ----------


@rule(r"<N> saves <A>, because its gradient needs those numbers")
def _saves(s, m):
    for label in code_in(m[2]):
        name, _, version = label.rpartition("@")
        look = named_now(s, name)
        if look is None:
            continue  # a value without a name
        if not any(each.storage == look.storage and each.version == int(version) for each in s.after.saved):
            return False
    return bool(s.after.saved)


@rule(r"<N> saves nothing for backward")
def _saves_nothing(s, m):
    keeps = [keeps for op, line, keeps in s.after.nodes if line == s.line and spelled(op) == spelled(m[1])]
    return False in keeps


# ---------- functions ----------


@rule(r"(?:Line|line) (\d+) calls <N>")
def _calls(s, m):
    return m[2].rpartition(".")[2] in s.after.running


@rule(r"<N> is done")
def _done(s, m):
    name = m[1].rpartition(".")[2]
    before, after = s.before.running.count(name), s.after.running.count(name)
    # a function that raised an error has ended before its last step is observed
    return after < before or (after == 0 and any(f"def {name}(" in line for line in s.source))


@rule(r"(?:I|i)ts local names are deleted")
def _deletes_local_names(s, m):
    name = re.search(r"`([^`]+)` is done", s.text)[1].rpartition(".")[2]
    call = s.after.running.count(name) + 1
    place = f" in {name}" if call == 1 else f" in {name} ({call})"
    return not any(path.endswith(place) for path in s.after.names)


@rule(r"<N> yields, and line (\d+) continues(?:: <N> names the yielded value)?")
def _yields(s, m):
    return m[3] is None or named_now(s, m[3]) is not None


@rule(r"<N> resumes where it waited(?:, with <A>)?")
def _resumes(s, m):
    return m[1].rpartition(".")[2] in s.after.running and all(
        named_now(s, name) is not None for name in code_in(m[2] or "")
    )


@rule(r"Line (\d+) raises <N>", r"()it raises <N>")
def _raises(s, m):
    return s.error.startswith(m[m.lastindex])


# ---------- backward ----------


@rule(
    r"`backward` starts at <N>(?: \(storage \d+\))? with the gradient <G>",
    r"`backward` starts at an earlier tensor with the gradient <G>",
)
def _starts(s, m):
    label = m[1].partition("@")[0] if m.re.groups > 1 else ""
    known = {spelled(op) for op, _, _ in (*s.before.nodes, *s.after.nodes)}
    return not label or label in s.before.names or spelled(label) in known


@rule(
    r"`backward` is done(?: and has added to existing gradients in place)?: "
    r"(.*?)(?:, in (?:storage (\d+)|\d+ (?:new )?storages)(?:, <B>)?)?"
)
def _collected(s, m):
    for name, text in re.findall(r"`([^`]+)` is (\[[^`]*\]|[-\d.e]+)(?=,| and |$)", m[1]):
        look = named_now(s, name)
        if look is None or not agrees(text, look.numbers) or (m[2] and "and" not in m[1] and look.storage != m[2]):
            return False
    return True


def agrees(text: str, numbers: Any) -> bool:
    """True if a text, in which a long list of numbers is shortened, agrees with ``numbers``."""
    flat = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|-?inf|nan", text)]
    real: list[float] = []
    stack = [numbers]
    while stack:
        each = stack.pop(0)
        stack = [*each, *stack] if isinstance(each, list) else stack
        if not isinstance(each, list):
            real.append(float(each))
    if "..." in text:
        flat, real = [flat[0], flat[-1]], [real[0], real[-1]]
    return len(flat) == len(real) and all(
        abs(a - b) <= 1e-2 * max(1.0, abs(b)) or a != a for a, b in zip(flat, real, strict=True)
    )


@rule(
    r"(?:The gradient|A hook on) .*",
    r"A hook receives .*",
    r"\d+ hooks .* receive copies of .*",
    r"<L> receives? .*",
    r"<L> sends .*",
    r"The `backward` of .*",
    r"It reads the copy in .*",
    r"<L> (?:reshapes|puts|wrote) .*",
    r"A write, recorded earlier, splits the gradient .*",
    r"The leaf's (?:shape has|dtype has|strides have) changed since the operation read it, so the gradient .*",
)
def _passes(s, m):
    known = {(spelled(op), str(line)) for op, line, _ in (*s.before.nodes, *s.after.nodes)}
    return {(spelled(op), line) for op, line in re.findall(r"`([^`]+)` \(line (\d+)\)", m[0])} <= known


@rule(r"<L> needs <N> at version (\d+) but finds version (\d+), so `backward` raises")
def _finds_another_version(s, m):
    found = savers(s, m[0])
    return any(not each.intact for each in found) and int(m[2]) < int(m[3])


# ---------- threads ----------


@rule(r"(?:A|a)nother thread writes <S>(?:, that of <N>)?: version (\d+) to version (\d+)")
def _other_thread_writes(s, m):
    number, name, before, after = m.groups()
    old = s.before.storages.get(number)
    return (
        version_is(s, number, after)
        and (old is None or old.version == int(before))
        and (name is None or on(named_now(s, name), number))
    )


@rule(r"(?:A|a)nother thread writes <S>, version (\d+)")
def _other_thread_writes_briefly(s, m):
    return version_reached(s, m[1], m[2])


@rule(r"(?:A|a)nother thread allocates <S>(?:, that of <N>)?: <B>", r"(?:A|a)nother thread allocates <S>()?, <B>")
def _other_thread_allocates(s, m):
    return is_new(s, m[1], m[3]) and (not m[2] or on(named_now(s, m[2]), m[1]))


@rule(r"Its steps are not shown(?:: a stage follows only the thread that starts it)?")
def _not_shown(s, m):
    return "nother thread" in s.text
