"""Extensions of other tools that use this package: magics for notebooks, a pytest plugin, and callbacks for trainers.

Each module imports the tool that it extends, so importing ``memory_stage`` imports none of them.
"""
