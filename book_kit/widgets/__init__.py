"""Controls for a figure, the HTML of reports, and notes on installed libraries."""
