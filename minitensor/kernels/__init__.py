"""The array functions behind the derivative table, by subject. They know nothing of tensors.

A forward function takes ``out`` last: the array to write, which is also the array of the operand that is overwritten.
It checks everything before it writes into it, and reads every operand that shares memory with it before that.
May import: the ground files, ``device``, ``core``.
"""
