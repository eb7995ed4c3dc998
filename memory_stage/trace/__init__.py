"""The recorded trace: its schema, the validation, and the formatting of its numbers and texts."""
