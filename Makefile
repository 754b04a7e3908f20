# Two commands do everything: `make weigh` and `make test`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STUDY ?= checksums
ARGS ?=
LOCKED ?=
SOURCES := $(shell find crates python -name '*.rs' -o -name 'Cargo.toml' -o -path '*/scripts/*.sql')
SOURCES += Cargo.toml Cargo.lock

.PHONY: help weigh test test-long build check bench docs fuzz validate validate-live tools clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-13s %s\n", $$1, $$2}'

weigh: build ## weigh data checksums on this machine (STUDY=..., ARGS="--budget 5m")
	@$(BIN)/steelyard weigh $(STUDY) $(ARGS)

build: $(VENV)/.built ## set up .venv and build the release extension into it

test: build ## everything: Rust and Python tests, tidy rules, real servers
	@bash .ci/test fast

test-long: build ## all cases and all that takes longer as well
	@bash .ci/test long

check: build ## format, lint, types, unit and tidy tests: under a minute
	@bash .ci/check

bench: build ## speeds as ratios; wants an idle machine (BEFORE=..., a built checkout to compare)
	@status=0; for bench in benches/*.py; do echo "== $$bench"; \
	  $(BIN)/python $$bench || status=1; done; exit $$status

docs: build ## the documentation as a site that opens from disk: target/site/index.html
	@$(BIN)/python .ci/site.py

fuzz: ## fuzz protocols, scripts and InnoDB's pages (nightly compiler, cargo-fuzz; ARGS=...)
	@for target in replies handshakes mysql_replies mysql_handshakes tds_replies tds_logins \
	  scripts innodb_pages; do \
	  mkdir -p fuzz/corpus/$$target; \
	  cargo +nightly fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
	  -max_len=600 $(or $(ARGS),-max_total_time=300) || exit 1; done

validate: build ## error rates by simulation and replay: half an hour; resumable (ARGS=...)
	@$(BIN)/python -m validation $(ARGS)
	@$(BIN)/python -m validation.publish

validate-live: build ## known weights on real servers, many times: hours; resumable
	@$(BIN)/python -m validation.live
	@$(BIN)/python -m validation.alternated

clean: ## remove what the build made
	rm -rf $(VENV) target build dist

tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "error: Python 3.11 or newer is needed: \"$(PYTHON)\" is not" >&2; \
	    echo "HINT:  Install it (Debian: apt-get install python3 python3-venv)," \
	      "or call make PYTHON=/path/to/python3.12" >&2; exit 2; }
	@command -v cargo >/dev/null || \
	  { echo "error: a Rust toolchain is needed: cargo was not found in PATH" >&2; \
	    echo "HINT:  Install Rust 1.80 or newer (rustup, or a distribution that is new enough)" >&2; \
	    exit 2; }
	@cargo --version | awk '{ split($$2, v, "."); exit !(v[1] > 1 || v[2] >= 80) }' || \
	  { echo "error: Rust 1.80 or newer is needed: $$(cargo --version) is not" >&2; \
	    echo "HINT:  Install it by rustup." >&2; exit 2; }
	@command -v cc >/dev/null || \
	  { echo "error: a C compiler is needed to link: cc was not found in PATH" >&2; \
	    echo "HINT:  Debian: apt-get install gcc libc6-dev" >&2; exit 2; }

$(VENV)/.installed: pyproject.toml | tools
	@echo "setting up $(VENV): packages"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python .ci/dependencies.py > $(VENV)/requirements.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check \
	  $(if $(LOCKED),--require-hashes -r packaging/locks/development.txt,-r $(VENV)/requirements.txt)
	@touch $@

$(VENV)/.built: $(VENV)/.installed $(SOURCES)
	@echo "building the release extension (a minute or two the first time)"
	@VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --release \
	  > $(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@# Where Python must not write byte code each command would compile all of ours.
	@$(BIN)/python -m compileall -q -j 0 python/steelyard
	@touch $@
