"""The three classes of the engine: a storage holds numbers, a history records their origin, a tensor views a storage.

The rest of the engine builds on them and on the modules beside them: regions of memory, errors, printed tensors.
"""
