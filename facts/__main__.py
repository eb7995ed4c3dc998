"""Check if the recorded facts hold in the installed version of a library: ``python -m facts check LIBRARY``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the scripts run as files, and import each other without a package name

from checking import main  # this module is found because of the line above

if __name__ == "__main__":
    sys.exit(main())
