"""Ways into the package from other tools: magics of a notebook, a plugin of pytest, and callbacks of trainers.

Each module imports the tool that it extends, so none is imported with the package.
"""
