"""Watch a whole program of PyTorch or Paddle at low cost: which line wrote which storage, and which made which node.

The recorder of :mod:`memory_stage.recorder` draws every step, so it can only follow a short program. This package keeps
just enough to answer one question when a backward fails or is about to go wrong: *which line overwrote a tensor that
the backward pass needs?* It keeps two things, both bounded, for a run of any length:

* :class:`~memory_stage.watch.node_log.NodeLog`: the line that made each node of the graph, found by the node's sequence
  number;
* :class:`~memory_stage.watch.write_log.WriteLog`: for each storage, the lines that wrote it, and when.

:mod:`memory_stage.watch.torch` fills both from a running program. The saved tensors themselves are read from the graph,
and only when a backward pass fails or a write without a version may have spoiled it. Paddle shows no saved tensors, so
:mod:`memory_stage.watch.paddle` logs the arguments of each call, and a learned table says which of them it saved.
"""
