"""What the layers of networks compute, as functions of tensors: those of Paddle in ``nn`` and of PyTorch in ``torch``.

A function here is one recorded operation where bytes or time ask for it, and otherwise a few operations of the table.
May import: all that stands below ``networks``.
"""
