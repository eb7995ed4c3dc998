"""python -m facts check LIBRARY: do the recorded facts still hold in the version that is installed here?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the scripts here are run as files, and import each other so

from checking import main  # found by the line above

if __name__ == "__main__":
    sys.exit(main())
