"""Helpers of tests that compare minitensor with recorded facts of PyTorch and Paddle, and with exact derivatives.

``goldens`` runs the operations whose facts were recorded in Paddle and PyTorch. ``programs`` generates random programs
and differentiates them exactly. ``exhaustive`` judges every short program.
"""
