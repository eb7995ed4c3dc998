"""The array functions that the derivative table calls, by subject. They work on arrays, not on tensors.

A forward function computes an operation. Its last parameter, ``out``, is given for an in-place operation: it is the
array to write, and also the array of one operand. Before the function writes, it checks all arguments and copies other
operands that share memory with ``out``.

A function called ``..._argument`` or ``..._arguments`` checks and converts the plain arguments of an operation.
"""
