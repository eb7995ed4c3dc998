"""Views (parts, other shapes and other dtypes of the same storage), and in-place changes that write no elements."""
