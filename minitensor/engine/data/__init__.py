"""Data sets, and batches of them: shared by ``io`` under Paddle's names and ``torch.utils.data`` under PyTorch's.

A batch is a copy of its samples unless views are requested. Loaders record nothing and change no mode, so leaving a
loop over a loader early does not change grad mode.
"""
