"""The engine that answers the recorder's questions for PyTorch, from its function calls, graph nodes and allocator.

This package imports PyTorch only after the program has imported it.
"""
