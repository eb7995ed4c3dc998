"""Answer the questions of the recorder for PyTorch, from its function calls, its graph nodes and its allocator.

PyTorch is imported only after the program has imported it.
"""
