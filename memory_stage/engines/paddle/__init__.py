"""Answer the questions of the recorder for Paddle 2.6 and 3, in dygraph mode and host memory.

* While a subscription is open, the functions of ``paddle._C_ops`` and the methods of ``paddle.Tensor`` are patched
  (:mod:`.monkeypatches`); afterwards they are restored.
* Paddle has no list of storages, and does not show the tensors that a node saved. The engine keeps both
  (:mod:`.shadow_state`): storages by their addresses, and saved tensors by a table that was learned from Paddle, one
  operation at a time (:mod:`.saved_table`). The trace marks them as inferred.
* Hooks and ``PyLayer`` functions of the program are observed when they run (:mod:`.hooking`, :mod:`.functions`).
* Nothing here imports ``paddle``, so a program that does not use it never loads it.
"""
