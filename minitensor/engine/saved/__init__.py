"""Saved tensors: the memory that backward needs, and how writes preserve its bytes or report them lost."""
