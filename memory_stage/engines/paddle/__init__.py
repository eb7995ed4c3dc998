"""Answers for tensors of Paddle itself, versions 2.6 and 3, in dygraph on the computer's own memory.

* While an ear is open, the functions of ``paddle._C_ops`` and the methods of ``paddle.Tensor`` are wrapped
  (:mod:`.wrapping`); afterwards each of them is the object that it was before.
* Paddle keeps no list of storages, and does not show what a node saved. Both are kept here, beside it (:mod:`.books`):
  storages by their addresses; saved tensors by a table that was learned from Paddle, one operation at a time
  (:mod:`.learned`). They are inferred, and told as such.
* Hooks of the program and functions of its own (``PyLayer``) tell when they run (:mod:`.hooking`, :mod:`.functions`).
* Nothing here imports ``paddle``. A program that has no need of it never loads it.
"""
