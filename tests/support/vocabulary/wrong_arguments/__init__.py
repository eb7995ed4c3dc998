"""Call every public name of both vocabularies with wrong arguments, and judge the errors.

``python -m tests.support.vocabulary.wrong_arguments --calls 50000 --seed 7`` runs a long walk; a test runs short ones
with fixed seeds. With ``--sweep`` each call has one wrong argument, so that rare pairs of value and parameter occur.
"""
