"""The array functions that the derivative table calls, by subject. They work on arrays, not on tensors.

A forward function takes ``out`` last: the array to write, which is also the array of the operand that is overwritten.
It checks everything, and reads every other operand that shares memory with ``out``, before it writes.
"""
