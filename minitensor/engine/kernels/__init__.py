"""The array functions that the derivative table calls, by subject. They work on arrays, not on tensors.

A forward function computes an operation. An in-place operation passes the array of the overwritten operand twice: as an
operand, and as the last argument ``out``, into which the function writes. Before the function writes, it checks all
arguments and copies the other operands that share memory with ``out``.

A function called ``..._argument`` or ``..._arguments`` checks and converts the plain arguments of an operation. All
these functions raise TypeError, ValueError or IndexError for arguments and arrays that the operation does not accept.
"""
