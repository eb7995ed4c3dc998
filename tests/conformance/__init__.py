"""Does minitensor do what a tensor program means, and what the real frameworks do?

``test_goldens.py`` compares every operation with recorded facts of Paddle and PyTorch.
``test_programs.py`` compares thousands of random programs with an exact derivative.
"""
