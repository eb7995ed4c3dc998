"""Views: tensors that share a storage by part, shape or index, and in-place changes that write no elements."""
