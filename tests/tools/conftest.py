"""Write a question bank from the ``questions`` fixture of a test module."""

from __future__ import annotations

import pytest

from tools.question_bank import write_bank


@pytest.fixture(scope="module")
def bank(questions, tmp_path_factory):
    """Return the folder of the bank with the module's ``questions``."""
    folder = tmp_path_factory.mktemp("bank")
    write_bank(folder, questions)
    return folder
