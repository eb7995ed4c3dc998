"""Watch a whole program of PyTorch or Paddle at low cost, to find the line that wrote a storage or created a node.

The recorder of :mod:`memory_stage.recorder` records every step, so it is only for short programs. This package records
just enough to answer one question when a backward pass fails or would compute wrong gradients: *which line overwrote a
tensor that the backward pass needs?* It has logs of a limited size, however long the run is, such as:

* :class:`~memory_stage.watch.node_log.NodeLog`: the line that created each node of the graph, by the node's sequence
  number;
* :class:`~memory_stage.watch.write_log.WriteLog`: for each storage, the lines that wrote it, and when.

:mod:`memory_stage.watch.torch` fills these two while a program runs. It reads the saved tensors from the graph, but
only when a backward pass fails or may compute wrong gradients. Python cannot read Paddle's saved tensors, so
:mod:`memory_stage.watch.paddle` logs the arguments of each call, and finds in a table those that the call saved.
"""
