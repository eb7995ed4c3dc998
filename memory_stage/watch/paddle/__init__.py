"""Watch a program of Paddle: calls, writes and backward passes."""
