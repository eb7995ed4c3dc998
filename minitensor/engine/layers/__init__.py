"""Functions of neural network layers on tensors, shared by Paddle's ``nn`` and PyTorch's ``torch.nn``.

A function is recorded as one operation if that saves memory or time. Otherwise it consists of operations of the table.
"""
