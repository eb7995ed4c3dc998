"""Watch a program that uses PyTorch: its calls, writes and backward passes."""
