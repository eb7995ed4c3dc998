"""The engine that answers the recorder's questions for Paddle 2.6 and 3, in dygraph mode and in host memory.

* While a subscription is open, the functions of ``paddle._C_ops`` and the methods of ``paddle.Tensor`` are patched
  (:mod:`.monkeypatches`); closing it restores them.
* Python can read neither Paddle's storages nor the tensors that a node saved. The engine keeps its own records of both
  (:mod:`.shadow_state`): it identifies a storage by its address, and infers the saved tensors from a table that was
  learned by calling each operation of Paddle once (:mod:`.saved_table`). The trace marks such saved tensors as
  inferred.
* Hooks and ``PyLayer`` functions of the program are observed when they run (:mod:`.hooking`, :mod:`.functions`).
* This package never imports ``paddle``, so a program without Paddle never loads it.
"""
