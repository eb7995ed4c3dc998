"""The recorded trace: its schema, the check of it, and the numbers and texts it consists of."""
