# What a contributor does, one target each. `make` alone lists them.
# Every target makes the virtual environment it needs; nothing has to be installed by hand but Python and make.

PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
HUDI := .venv-hudi
BIN := $(VENV)/bin
ARGS ?=

# Prefix of a command that starts Spark: finds Java (or installs it where that is possible) and points Spark at it.
WITH_JAVA = JAVA_HOME="$$(scripts/ensure_java.sh)" && export JAVA_HOME &&

.DEFAULT_GOAL := help
.PHONY: help setup demo test azurite lint fmt bench fuzz properties clusters s3a shells peers versions docs site release pictures tables example clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## make .venv, install Lakescan and its tools, find Java
	@scripts/ensure_java.sh >/dev/null

demo: $(VENV)/.installed ## run three queries over the sample table and show what each one skipped
	@$(WITH_JAVA) $(BIN)/lakescan demo

test: $(VENV)/.installed ## run the tests; ARGS="-k name" picks some
	@$(WITH_JAVA) $(BIN)/python -m pytest $(ARGS)

azurite: build/azurite/node_modules/.bin/azurite-blob ## install Azurite (needs npm), so that the tests of Azure's store are not skipped

build/azurite/node_modules/.bin/azurite-blob:
	@mkdir -p build/azurite
	npm install --prefix build/azurite --no-audit --no-fund --loglevel=error azurite@3.37.0

lint: $(VENV)/.installed ## check style and types, of the Java classes too
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(WITH_JAVA) scripts/lint_java.sh

fmt: $(VENV)/.installed ## format the code and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed $(if $(filter tpch tpcds streams,$(ARGS)),$(PEERS),$(HUDI))/.installed ## measure against Spark's own readers; ARGS="scan_columns" picks some, ARGS=tpch runs a suite
	@$(WITH_JAVA) PYTHONWARNINGS="error:Lakescan gave up an optimization" $(BIN)/python benchmarks/run.py $(ARGS)

fuzz: $(VENV)/.installed ## read 10,000 damaged copies of the sample tables; ARGS="--case 1/logs_v8/7" repeats one
	@$(BIN)/python -m tests.fuzz $(ARGS)

properties: $(VENV)/.installed ## run the property tests with twenty times as many examples
	@LAKESCAN_FUZZ=20 $(BIN)/python -m pytest tests/scan tests/predicate tests/formats/delta/stream tests/formats/hudi/test_pushdown.py tests/spark/test_any_expression.py tests/spark/test_merged_subqueries.py --timeout=0 $(ARGS)

clusters: $(VENV)/.installed ## run spark-submit on a standalone master and worker with every way to install on executors
	@$(WITH_JAVA) LAKESCAN_CLUSTERS=1 $(BIN)/python -m pytest tests/spark/test_clusters.py $(ARGS)

s3a: $(VENV)/.installed ## read a store by Hadoop's own S3A, which is downloaded (690 MB)
	@$(WITH_JAVA) LAKESCAN_S3A=1 $(BIN)/python -m pytest tests/spark/test_s3a.py $(ARGS)

shells: $(VENV)/.installed ## run spark-sql, the Thrift server, Spark's own Connect server and an application of Java's with the JAR
	@$(WITH_JAVA) LAKESCAN_SHELLS=1 $(BIN)/python -m pytest tests/spark/test_jar.py $(ARGS)

peers: $(PEERS)/.installed $(HUDI)/.installed ## compare with Delta Spark and with Hudi on Spark, each in its environment
	@$(WITH_JAVA) $(PEERS)/bin/python -m pytest tests/peers $(ARGS)
	@$(WITH_JAVA) $(HUDI)/bin/python -m pytest tests/peers_hudi --confcutdir=tests/peers_hudi $(ARGS)

versions: ## run the Spark tests on the other PySpark releases that are supported
	@set -e; for version in 4.0 4.1 4.2; do \
	  $(MAKE) --no-print-directory .venv-pyspark-$$version/.installed; \
	  $(WITH_JAVA) .venv-pyspark-$$version/bin/python -m pytest tests/spark $(ARGS); \
	done

.venv-pyspark-%/.installed: pyproject.toml
	@$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' 'pyspark==$*.*'
	@touch $@

docs: $(VENV)/.installed ## check the documentation: links, examples, what is made from the code
	@$(BIN)/python scripts/check_docs.py
	@$(BIN)/python scripts/options_page.py --check
	@$(BIN)/python scripts/made_tables.py --check

site: $(VENV)/.site ## build the documentation as a site into build/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "build/site/index.html"

$(VENV)/.site: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[site]'
	@touch $@

release: $(VENV)/.installed ## build wheel and sdist, install the wheel in fresh environments and run the demo there
	@$(WITH_JAVA) scripts/release.sh

pictures: $(VENV)/.installed ## take the pictures of docs/pictures anew in headless Chromium (changes committed files)
	@$(BIN)/python scripts/pictures.py

example: $(PEERS)/.installed ## write the table of the demo anew with Delta Spark (changes committed files)
	@$(WITH_JAVA) $(PEERS)/bin/python examples/make_orders.py

tables: example $(VENV)/.installed $(HUDI)/.installed ## write all sample tables anew with their engines (changes committed files)
	@$(WITH_JAVA) $(PEERS)/bin/python tests/data/delta/make_tables.py
	@$(WITH_JAVA) $(PEERS)/bin/python tests/data/make_changes.py
	@$(BIN)/python tests/data/delta/make_delta_rs.py
	@$(WITH_JAVA) $(HUDI)/bin/python tests/data/hudi/make_kinds.py
	@$(WITH_JAVA) $(HUDI)/bin/python tests/data/hudi/make_indexed.py
	@$(WITH_JAVA) $(HUDI)/bin/python tests/data/hudi/make_merges.py

clean: ## remove everything that the targets made
	rm -rf $(VENV) $(PEERS) $(HUDI) .venv-pyspark-* .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	rm -rf benchmarks/.data tests/peers_hudi/.walks tests/peers/.results
	rm -rf spark-warehouse metastore_db derby.log
	find src tests examples benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is newer than pyproject.toml when the environment is up to date.
$(VENV)/.installed: EXTRAS := dev
$(PEERS)/.installed: EXTRAS := dev,peers
$(VENV)/.installed $(PEERS)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Lakescan needs Python 3.10 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12" if sys.version_info < (3, 10) else 0)'
	@$(PYTHON) -m venv $(@D) || { echo "No virtual environment could be made. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@

# Hudi on Spark has no bundle for Spark 4: its environment has PySpark 3.5 and Lakescan without its dependency on
# PySpark 4, since only `lakescan.open` is used there. The bundle itself comes from Maven Central when Spark starts.
$(HUDI)/.installed: pyproject.toml
	@$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
	    'pyspark==3.5.*' setuptools pyarrow pyroaring sqlglot numpy fastavro 'hudi>=0.5,<0.6' pytest pytest-timeout
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@
