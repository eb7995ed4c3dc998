"""Cell magics of the book: for stages, for expected errors, and for cells that run on several ranks."""
