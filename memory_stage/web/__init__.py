"""The stage in a page: scripts, styles, the HTML around them, and pictures drawn without a browser."""
