"""Configure the JupyterLab that `make notebooks` and Binder start: notebooks show plain Markdown instead of MyST."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from chapter_files import ChapterFiles

c = get_config()  # noqa: F821 - Jupyter defines it
c.ServerApp.contents_manager_class = ChapterFiles
