"""Watch a program of PyTorch: calls, writes and backward passes."""
