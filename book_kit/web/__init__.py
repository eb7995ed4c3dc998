"""Scripts and styles of questions and reports."""
