"""One module a subcommand: its name is the subcommand's, and its `command` is what runs.

Modules import what takes time to import, as pyspark and rich, where they use it: `lakescan --help` imports them all.
"""
