"""The three nouns: a storage holds numbers, a history says where they came from, a tensor is a way to look at them.

Beside them what all of the engine speaks with: regions of memory, errors, and how a tensor is printed.
May import: the ground files (``dtypes``, ``events``, ``modes``, ``randomness``), ``device``.
"""
