"""Tests of `lakescan.predicate`; a package, so that its modules can share `strategies`."""
