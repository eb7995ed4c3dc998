"""Data sets and batches, which ``minitensor.io`` (Paddle's names) and ``minitensor.torch.utils.data`` share.

A batch is a copy of its samples unless views are requested. Loaders record no operation and change no mode, so no
mode has to be restored if a program leaves a loop over a loader early.
"""
