"""The plan of the class in English, `book/class.json`."""

from __future__ import annotations

import json

from _ext.book_pages.built_page import PLAN
from tools.build import ROOT

CLASS = json.loads((ROOT / PLAN).read_text(encoding="utf-8"))
CAPTIONS = CLASS["bank"]  # the captions of pictures in the question bank
