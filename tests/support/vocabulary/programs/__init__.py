"""Run learners' programs for PyTorch and Paddle in minitensor, with only the import changed.

`facts/programs/torch/` and `facts/programs/paddle/` contain the programs as learners typed them. `facts/programs.json`
contains their results in the frameworks, recorded by `facts/programs.py`.

    python -m tests.support.vocabulary.programs      runs both folders and prints the differences
"""
