"""The contract of all methods: a problem, and how to run and to stop.

A time limit is the `Deadline` of `control`. Methods report each epoch to a `Progress`, which ends
them at the deadline and, after Ctrl-C, raises `Stopped` with the tree so far; `_estimators.run`
catches it. `monotone` moves leaf values where `monotonic_cst` asks for it, and `size_limits` calls
it for the trees that methods return.
"""
