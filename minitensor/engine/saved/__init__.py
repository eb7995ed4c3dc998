"""Saved tensors: the memory that backward needs, and how writes preserve its bytes or record their loss."""
