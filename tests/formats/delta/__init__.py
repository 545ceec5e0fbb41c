"""Tests of `lakescan.formats.delta`; a package, so that a module may be named like one of another folder."""
