"""The array functions that the derivative table calls, by subject. They work on arrays, not on tensors.

The last parameter of a forward function, ``out``, is the array to write in an in-place operation; it is then also the
array of one operand. Before it writes, the function checks all arguments and reads every other operand that shares
memory with ``out``.
"""
