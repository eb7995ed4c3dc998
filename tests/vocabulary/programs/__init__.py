"""Learners' programs in PyTorch's and in Paddle's vocabulary, run here with only the import changed.

`facts/programs/torch/` and `facts/programs/paddle/` hold the programs, as a learner types them. `facts/programs.json`
holds what the frameworks did
with them (`facts/programs.py` records it). `python -m tests.vocabulary.programs` runs the folder and prints what
differs.
"""
