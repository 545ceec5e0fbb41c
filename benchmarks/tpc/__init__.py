"""The queries of TPC-H and TPC-DS by Delta Spark's readers and by Lakescan, in turns, in one session.

Run by `make bench ARGS=tpch` in the environment that has Delta Spark. DuckDB's extensions make tables and queries on
this machine, so the project carries neither.
"""
