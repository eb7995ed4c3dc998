"""Run cells inside a web page: the kernel, its event loop, and the reset between runs."""
