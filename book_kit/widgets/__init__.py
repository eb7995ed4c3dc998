"""Controls of a figure, the progress of a training, and notes on installed libraries."""
