"""Scripts and styles for questions and reports."""
