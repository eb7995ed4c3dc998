"""Cell magics of the book: stages, expected errors, reports, and cells that run on several ranks."""
