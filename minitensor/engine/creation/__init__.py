"""New tensors: from data, from constants, at random, or moved to another device. Each is on a new storage."""
