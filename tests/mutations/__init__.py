"""Faults planted in the engine, one at a time: the tests must notice each.

A :class:`~tests.mutations.mutation.Mutation` replaces a few characters of one file, as a slip of the pen would. It is
run in a copy of the package and its tests, in a process of its own: first the tests that are expected to notice, then
all others. What counts is a test that fails in its own body, where it passes on the engine as it is; a mutant that can
not even be run shows nothing and is reported as broken. A mutant that no test notices points to a missing test.

    python -m tests.mutations --all              every mutation
    python -m tests.mutations --sample 10        some of them
    python -m tests.mutations --only NAME        one, with what the failing test said
"""
