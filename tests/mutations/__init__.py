"""Faults planted in the engine, one at a time. The tests must notice each.

A :class:`~tests.mutations.mutation.Mutation` replaces a few characters of one file, as a typing mistake would. The
changed engine, the mutant, runs in a copy of the package and its tests, in a separate process: first the tests that are
expected to notice the fault, then all others. A test has noticed the fault if it fails in its own body and passes on
the unchanged engine. A mutant that cannot run proves nothing and is reported as broken. A mutant that no test notices
points to a missing test.

    python -m tests.mutations --all              every mutation
    python -m tests.mutations --sample 10        some of them
    python -m tests.mutations --only NAME        one, with the message of the failing test
"""
