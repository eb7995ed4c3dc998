"""Names of tensors with two parts: ``x in f`` for a local variable, ``opt.velocity of w`` for an optimizer's tensor.

The recorder and the trace use such a name as a key, which is the same in all languages. A reader sees the result of
:func:`phrase`, in which each language has its own order of the parts.
"""

from __future__ import annotations

import re

from memory_stage.messages import Text, message

#: The name of a function may be followed by the number of its running call: ``x in f (2)``. The key of a dict may also
#: contain " in ", but the key is in quotes.
_LOCAL = re.compile(r"(.+) in ([^'\" ]+(?: \(\d+\))?)")
_SLOT = re.compile(r"(.+) of (.+)")
_PARAMETER = re.compile(r"parameter (\d+)")


def local_name(name: str, place: str) -> str:
    """Return the name of a local variable of the function ``place``."""
    return f"{name} in {place}"


def slot_name(slot: str, parameter: str) -> str:
    """Return the name of an optimizer's tensor for a parameter: ``opt.velocity of w``."""
    return f"{slot} of {parameter}"


def parameter_name(number: int) -> str:
    """Return a name for an optimizer's parameter to which the program gave no name."""
    return f"parameter {number}"


def is_local(name: str) -> bool:
    """True if a name is a local variable of a function."""
    return _LOCAL.fullmatch(name) is not None


def is_local_of(name: str, place: str) -> bool:
    """True if a name is a local variable of the function ``place``."""
    return name == local_name(without_function(name), place)


def without_function(name: str) -> str:
    """Return ``x`` for the name ``x in f`` of a local variable. Return any other name unchanged."""
    found = _LOCAL.fullmatch(name)
    return name if found is None else found[1]


def gradient_name(name: str) -> str:
    """Return the name of a tensor's gradient: ``x.grad``, or ``x.grad in f`` for ``x in f``."""
    found = _LOCAL.fullmatch(name)
    return f"{name}.grad" if found is None else local_name(f"{found[1]}.grad", found[2])


def phrase(name: str) -> Text:
    """Return the text that a reader sees for a name: a message if the name can be translated, or the name itself."""
    if found := _LOCAL.fullmatch(name):
        return message("{name} in {place}", name=phrase(found[1]), place=found[2])
    if found := _SLOT.fullmatch(name):
        return message("{name} of {tensor}", name=found[1], tensor=phrase(found[2]))
    if found := _PARAMETER.fullmatch(name):
        return message("parameter {number}", number=found[1])
    return name
