"""Functions of neural network layers on tensors, shared by Paddle's ``nn`` and PyTorch's ``torch.nn``.

A function is one recorded operation if that saves memory or time, and otherwise consists of operations of the table.
"""
