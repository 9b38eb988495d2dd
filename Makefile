# Every target sets up what it needs in .venv, from nothing but Python >= 3.11 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python

DEMO_EXTRAS := audit,cli,datasets,plot,sim
TEST_EXTRAS := all,dev,docs
SERVE_EXTRAS := audit,chat,cli,serve
SLOW_EXTRAS := $(TEST_EXTRAS),slow
BENCH_EXTRAS := $(TEST_EXTRAS),bench
DOCS_EXTRAS := all,docs

# Tests start many processes, so compiled modules are kept whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

# A stamp carries the extras in its name: asking for others installs them.
comma := ,
stamp = $(VENV)/.installed-$(subst $(comma),-,$(1))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo paper serve-demo test check bench docs examples snapshots slow clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(call stamp,$(DEMO_EXTRAS)) ## Audit a log, run a cascade, then reproduce the paper
	@echo "== An audit of a log: 1,000 visits, three tests, and nobody who says what was right"
	@mkdir -p build/demo
	@$(PY) -m stopwise audit examples/data/visits.csv --id visit --costs 5,40,400 --mistake-cost 2000 \
	  --out build/demo/visits.html
	@echo; echo "== A cascade that runs: it learns, saves, and notices a broken stage"
	@$(PY) -m examples.live_cascade build/demo
	@echo; echo "== The paper: all tables and figures"
	@$(PY) -m paper all --out build/reproduction
	@echo; echo "Pages to open:"
	@printf '  %s\n' build/demo/*.html build/reproduction/report.html

paper: $(call stamp,$(DEMO_EXTRAS)) ## Reproduce the paper into build/reproduction
	$(PY) -m paper all --out build/reproduction

serve-demo: $(call stamp,$(SERVE_EXTRAS)) ## Serve three fake chat models, one of which breaks; prints the address
	$(PY) -m examples.serve_demo

test: check ## Check, then run the tests and every example in the documents
	$(PY) -m pytest -n 3

check: $(call stamp,$(TEST_EXTRAS)) ## Format, lint, types, import direction
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(BIN)/lint-imports --no-logo

bench: $(call stamp,$(BENCH_EXTRAS)) ## Run every benchmarks/bench_*.py
	@found=; missed=; \
	for file in benchmarks/bench_*.py; do \
	  [ -e "$$file" ] || continue; \
	  found=yes; name=$$(basename "$$file" .py); echo "== $$name"; \
	  $(PY) -m benchmarks.$$name || missed="$$missed $$name"; \
	done; \
	[ -n "$$found" ] || echo "bench: there is no benchmarks/bench_*.py to run"; \
	[ -z "$$missed" ] || { echo "bench: a bar was missed or a bench failed in:$$missed" >&2; exit 1; }

examples: $(call stamp,$(TEST_EXTRAS)) ## Render audit pages of all kinds into build/examples
	$(PY) -m examples.pages build/examples

docs: $(call stamp,$(DOCS_EXTRAS)) ## Build the documentation site into build/site and check its links
	$(PY) docs/build_site.py build/site

snapshots: $(call stamp,$(TEST_EXTRAS)) ## Renew the texts and counts that tests compare; read them before you commit
	$(PY) -m tests.auditing.words.snapshot
	RENEW=1 $(PY) -m pytest -q tests/paper/test_golden.py tests/test_examples.py tests/test_documents.py

slow: $(call stamp,$(SLOW_EXTRAS)) ## Run the tests marked slow
	@$(PY) -m pytest -n 3 -m slow || { status=$$?; \
	  [ $$status -eq 5 ] && echo "slow: no test is marked slow" || exit $$status; }

clean: ## Remove .venv, caches and build products
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -type d -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "stopwise needs Python >= 3.11 but '$(PYTHON)' was not found; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "stopwise needs Python >= 3.11 but '$(PYTHON)' is $$($(PYTHON) -V 2>&1); try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(VENV)/.created
	@echo "Installing stopwise[$(subst -,$(comma),$*)] into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(subst -,$(comma),$*)]'
	@touch $@
