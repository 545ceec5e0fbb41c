"""Tests of `lakescan.scan`; a package, so that a module may be named like one of another folder."""
