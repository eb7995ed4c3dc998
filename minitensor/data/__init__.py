"""Data sets, and batches of them: what ``io`` has under Paddle's names and ``torch.utils.data`` under PyTorch's.

A batch is a copy of its samples unless views are asked for. Nothing here records, and no mode is changed on the way: a
loop over a loader that is left early leaves grad mode as it was.
May import: the ground files, ``core``, ``views``.
"""
