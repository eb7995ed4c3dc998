"""Goldens, random programs and short programs for the tests that compare minitensor with exact derivatives and PyTorch.

``goldens`` has the recorded facts of every operation in Paddle and PyTorch, ``programs`` generates random programs and
differentiates them exactly, and ``exhaustive`` judges every short program.
"""
