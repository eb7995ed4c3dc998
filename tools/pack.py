"""Pack the built book into one zip file for reading without a server: unpack it and open `in-place/index.html`.

    python tools/pack.py [folder] [--to _build/in-place.zip]

The zip file lacks the files with which pages run Python, because browsers refuse them in pages opened from the disk.
"""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "in-place"  # the folder that unpacking creates


def pack(folder: Path, to: Path) -> int:
    """Write all files of `folder` into the zip file `to`, and return their number."""
    live = folder / "_static" / "live"
    files = sorted(path for path in folder.rglob("*") if path.is_file() and live not in path.parents)
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            packed.write(file, Path(NAME) / file.relative_to(folder))
    return len(files)


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack the built book into one zip file.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / f"{NAME}.zip")
    options = parser.parse_args()
    if not (options.folder / "index.html").exists():
        parser.error(f"{options.folder} has no index.html: build the book first")
    count = pack(options.folder, options.to)
    size = options.to.stat().st_size
    print(f"{options.to}: {count} files, {size / 2**20:.1f} MiB. Unpack it and open {NAME}/index.html.")


if __name__ == "__main__":
    main()
