"""Tests of `lakescan.reader`; a package, so that its modules can share `shapes`."""
