"""Recording a program: hooks before its statements, the books of what it did to memory, the steps of a trace."""
