# GoQueue. `make` alone lists what there is.
.DEFAULT_GOAL := help
.PHONY: help setup setup-run run demo demo-picture test check spark-classes static bench bench-quick bench-spark bench-peers fuzz kill-transactions kill-spark contract bank attack soak screenshots dashboards references grpc-stubs wheel fmt docs clean
SHELL := /bin/bash
BIN := .venv/bin
ROUNDS ?= 500
SPARK_ROUNDS ?= 30
KILLS ?= 50
EXAMPLES ?= 200
SECONDS ?= 600
SEED ?= 1
# Many tests wait for a disk or for a process. Those of a file stay together, as they share servers; more processes would make
# those that measure time wait for each other.
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

setup: ## everything for development: .venv, pinned packages, compiled modules, Java, Chromium, Prometheus, shells where possible
	@scripts/setup.sh dev

setup-run:
	@scripts/setup.sh run

run: setup-run ## install only what the broker needs, then serve from ./data
	@exec $(BIN)/goqueue server --data data

demo: setup ## a day at a shop: orders, crashes, dead letters, Spark, a report; then the console (DEMO_WAIT=0: ends by itself)
	@exec $(BIN)/python -m examples.shop

test: setup ## everything: static checks, then every test
	@$(MAKE) --no-print-directory --output-sync -j 2 static spark-classes
	$(BIN)/pytest $(SIDE_BY_SIDE)

check: static ## static checks and the fast tests
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not slow and not spark and not browser"

# One core is free for it while types are checked.
spark-classes: setup ## Spark's classes in one file, from which the Java of tests starts in half the time
	-@$(BIN)/python -m tests.spark.class_archive

static: setup
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy --strict src examples
	$(BIN)/lint-imports

bench: setup ## run the benchmarks; prints a table, saves JSON in bench/results
	$(BIN)/python -m bench

bench-quick: setup ## the same in less time, with smaller inputs
	$(BIN)/python -m bench --quick

bench-spark: setup ## the same for Spark: reading, writing and streaming, beside Parquet
	$(BIN)/python -m bench spark

bench-peers: setup ## GoQueue beside Redis, NATS and RabbitMQ on this machine (QUICK=--quick: less than 4 minutes)
	$(BIN)/python -m bench.peers $(QUICK)

fuzz: setup ## ten million hostile inputs against the codec
	$(BIN)/python tests/fuzz/fuzz_codec.py --inputs 10000000 --seed 1

kill-transactions: setup ## kill -9 at each write of a transaction, then at ROUNDS random moments under SEED
	$(BIN)/python -m tests.integration.transaction_steps
	$(BIN)/python -m tests.integration.transaction_kills --rounds $(ROUNDS) --seed $(SEED)

kill-spark: setup ## kill driver, Python workers and broker under running queries, SPARK_ROUNDS times, under SEED
	$(BIN)/python -m tests.spark.faults --rounds $(SPARK_ROUNDS) --seed $(SEED)

contract: setup ## the HTTP API against its OpenAPI document, by schemathesis with all checks, EXAMPLES of each kind under SEED
	$(BIN)/python -m tests.workloads.contract --examples $(EXAMPLES) --seed $(SEED)

bank: setup ## transfers as transactions for SECONDS, while tellers crash and the broker is killed, under SEED
	$(BIN)/python -m tests.workloads.bank --seconds $(SECONDS) --seed $(SEED)

attack: setup ## clients of three protocols while the broker is killed KILLS times, under SEED; then the history is checked
	$(BIN)/python -m tests.workloads.attack --kills $(KILLS) --seed $(SEED)

soak: setup ## churn of topics, groups, members, producers and transactions for SECONDS; what the broker holds must not grow
	$(BIN)/python -m tests.workloads.soak --seconds $(SECONDS) --seed $(SEED)

screenshots: setup ## one image of each page of the console, in docs/images
	$(BIN)/python -m tests.console.screenshots

demo-picture: setup ## docs/images/demo-report.png, from the report of the last demo
	$(BIN)/python -m scripts.demo_picture demo-data/report/shop.html

dashboards: setup ## the dashboards for Grafana, from deploy/grafana/build.py
	$(BIN)/python -m deploy.grafana.build

references: setup ## the pages of the documentation that are made from code
	$(BIN)/python -m scripts.references

grpc-stubs: setup ## src/goqueue/wire/grpc/v1, from the protos beside it
	$(BIN)/python -m scripts.grpc_stubs

wheel: setup ## a wheel in dist/, with a manylinux tag where it holds
	@scripts/wheel.sh

fmt: setup ## format, and fix what the linter can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

docs: setup ## build the documentation into site/
	$(BIN)/python -m scripts.site

clean: ## remove .venv, builds and caches; never touches data
	rm -rf .venv build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache src/*.egg-info
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
	find src -name '*.so' -delete
