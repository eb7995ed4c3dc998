"""Test that every claim of the articles has an answer in the book, and a proof that holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_kit.tables import claim_tables as tables

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = tables.claims(ROOT)
PROOFS = [(claim["claim"], proof) for claim in CLAIMS for proof in claim["proofs"]]
RUN = [(claim, proof) for claim, proof in PROOFS if "run" in proof]
RECORDED = [(claim, proof) for claim, proof in PROOFS if "ask" in proof]


def test_every_article_has_claims_and_each_claim_has_a_proof():
    assert {claim["article"] for claim in CLAIMS} == set(tables.ARTICLES)
    assert {claim["verdict"] for claim in CLAIMS} == set(tables.VERDICTS)
    assert [claim["claim"] for claim in CLAIMS if not claim["proofs"]] == []


@pytest.mark.parametrize("claim, proof", RUN, ids=lambda value: value if isinstance(value, str) else "")
def test_a_program_returns_the_answer_that_is_written_beside_it(claim, proof):
    assert tables.shown(ROOT, proof) == proof["gives"]


@pytest.mark.parametrize("claim, proof", RECORDED, ids=lambda value: value if isinstance(value, str) else "")
def test_the_record_has_an_answer_for_every_library_that_a_claim_names(claim, proof):
    assert len(tables.answers(ROOT, proof)) == len(proof["of"]) > 0


def test_no_claim_appears_twice():
    assert len({(claim["article"], claim["claim"]) for claim in CLAIMS}) == len(CLAIMS)
