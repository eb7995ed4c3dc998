"""Watch a program that uses Paddle: its calls, writes and backward passes."""
