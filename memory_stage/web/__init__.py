"""The stage in a page: its scripts and styles, the HTML around them, and the picture drawn without a browser.

May import: ``recorder``.
"""
