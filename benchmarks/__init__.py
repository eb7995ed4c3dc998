"""Speed and memory, measured side by side as ratios. Nothing here is a test: tests never assert a time."""
