# Two commands do it all: `make demo` and `make test`. Both make what they need: a virtual environment in `.venv`,
# packages by name, a build of the wheel.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What the wheel is made of: not the tests.
RUST_SOURCES := $(shell git ls-files Cargo.toml Cargo.lock pyproject.toml 'crates/*' ':!crates/*/tests/*' ':!crates/*/benches/*')
CARGO_TEST := cargo test --workspace --exclude sapwood-python

# The page of `sapwood browse`: its built files are committed; npm is for changing it, and for jsroot.
PAGE := npm --prefix crates/serve/page
JSROOT := crates/serve/page/jsroot/jsroot.min.js

.PHONY: demo test test-rust test-python release docs sbom bench papers bench-micro check install-c torture clean

demo: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet awkward
	$(BIN)/python examples/demo.py

# Both parts run, also where one fails; it ends with a line for each.
test:
	@rm -f target/test-parts.txt
	-@$(MAKE) --no-print-directory test-rust
	-@$(MAKE) --no-print-directory test-python
	@echo; $(PYTHON) tools/run_tests.py show rust python

test-rust:
	$(PYTHON) tools/run_tests.py rust -- $(CARGO_TEST)

# Files of tests on so many processes; each may take 2 GB.
PROCESSES ?= 2
test-python: $(VENV)/.tests
	$(BIN)/python tools/run_tests.py python -- $(BIN)/python -m pytest tests -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -rfEs

# Side by side with ROOT, uproot and the limit; rewrites docs/benchmarks.md and docs/benchmarks/.
bench: release
	$(BIN)/python -m bench.read.run
	$(BIN)/python -m bench.read.papers
	$(BIN)/python -m bench.read.streaming
	$(BIN)/python -m bench.read.packed
	$(BIN)/python -m bench.read.steps
	$(BIN)/python -m bench.read.cold
	$(BIN)/python -m bench.read.cores
	$(BIN)/python -m bench.write.writing
	$(BIN)/python -m bench.write.layout
	$(BIN)/python -m bench.write.parallel
	$(BIN)/python -m bench.write.files
	$(BIN)/python -m bench.write.cores
	$(BIN)/python -m bench.write.merging --command $(BIN)/sapwood
	$(BIN)/python -m bench.write.incremental
	$(BIN)/python -m bench.remote.remote
	$(BIN)/python -m bench.read.treecache
	$(BIN)/python -m bench.ntuple.run
	$(BIN)/python -m bench.query.query
	$(BIN)/python -m bench.query.skip
	$(BIN)/python -m bench.ml.batches --write
	$(BIN)/python -m bench.look.look --write

# The tables of the papers, measured again beside ROOT and written side by side: docs/benchmarks/papers.md. SCALE=1 is
# their full size, and takes hours.
SCALE ?= 0.25
papers: release
	$(BIN)/python -m bench.papers --measure --scale $(SCALE)

# The hot loops alone, in memory: which one became slower.
bench-micro:
	cargo bench --package sapwood --bench hot_loops

check: $(VENV)/.tests $(JSROOT)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/python tools/layers.py
	$(BIN)/python tools/line_lengths.py
	$(BIN)/python tools/prose.py
	$(PAGE) run check
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --exclude sapwood-python
	$(BIN)/python tools/examples.py
	$(BIN)/python -m ruff check crates/python tests examples tools
	$(BIN)/python -m mypy
	if command -v cargo-deny >/dev/null; then cargo deny check; else echo "cargo-deny is missing: CI runs it"; fi

# The documentation as static pages, in `site`.
docs: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet mkdocs-material
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# What the wheel is made of: names, versions and licences, as CycloneDX.
sbom:
	$(PYTHON) tools/sbom.py > sapwood.cdx.json

# The library for C and C++, with headers, pkg-config and CMake files (docs/c.md).
PREFIX ?= /usr/local
install-c:
	crates/c/install.sh $(PREFIX)

# What takes long: writers killed a thousand times, a thousand links that break, a thousand clients of the proxy, payloads
# above 1 GiB, all orders of parallel commits, each fuzz target for ten minutes.
torture: $(VENV)/.tests
	SAPWOOD_KILLS=1000 $(BIN)/python -m pytest tests/test_crash.py
	SAPWOOD_PARALLEL_KILLS=200 $(BIN)/python -m pytest tests/test_parallel.py
	SAPWOOD_PROJECTS=1000 $(BIN)/python -m pytest tests/test_makeproject_corpus.py
	SAPWOOD_SEEDS=100 $(BIN)/python -m pytest tests/test_random_classes.py
	SAPWOOD_BIG=1 $(BIN)/python -m pytest tests/test_ntuple_big.py
	SAPWOOD_SMALL_FILES=2000 $(BIN)/python -m pytest tests/test_merge.py -k many_small
	SAPWOOD_FAULTS=1000 cargo test -p sapwood-store --features clouds random_faults
	SAPWOOD_CLIENTS=1000 cargo test -p sapwood-serve --test crowd
	RUSTFLAGS="--cfg loom" cargo test -p sapwood --test loom --release --target-dir target/loom
	fuzz/run.sh 600

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# jsroot, which the wheel carries. Without npm there is a wheel all the same, and its page says what is missing.
$(JSROOT): crates/serve/page/package-lock.json
	$(PAGE) ci --ignore-scripts --no-audit --no-fund && $(PAGE) run jsroot || test "$(CI)" != true

# The package with the `sapwood` command: built by one of the profiles of Cargo.toml, whose progress is on the screen.
define install
	$(BIN)/python -m pip install --quiet "maturin>=1.9,<2"
	rm -rf target/wheel
	$(BIN)/maturin build --locked --profile $(1) --out target/wheel
	$(BIN)/python -m pip uninstall --quiet --yes sapwood
	$(BIN)/python -m pip install --quiet target/wheel/sapwood-*.whl
endef

$(VENV)/.installed: $(VENV)/bin/python $(RUST_SOURCES) | $(JSROOT)
	$(call install,quick)
	touch $@

# The package as it is published: what is measured.
release: $(VENV)/.tests
	$(call install,release)

# Peers and oracles. Where ROOT or Pythia has no wheel for this machine, its tests are skipped by name; in CI they are required.
$(VENV)/.tests: $(VENV)/.installed tests/requirements.txt tests/requirements-root.txt tests/requirements-pythia.txt
	$(BIN)/python -m pip install --quiet -r tests/requirements.txt
	$(BIN)/python -m pip install --quiet -r tests/requirements-root.txt || test "$(CI)" != true
	$(BIN)/python -m pip install --quiet -r tests/requirements-pythia.txt || test "$(CI)" != true
	touch $@

clean:
	cargo clean
	rm -rf $(VENV)
