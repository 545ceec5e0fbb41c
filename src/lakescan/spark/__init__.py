"""Spark's DataSource V2, implemented in Python. Nothing outside this folder imports pyspark."""
