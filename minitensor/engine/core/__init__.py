"""The three main classes: a storage holds numbers, a history records how they were computed, a tensor shows them.

The other modules here are about regions of memory, errors and the printing of tensors. The whole engine uses this
package. In the engine, a *vocabulary* means one framework's names for it: Paddle's, or PyTorch's.
"""
