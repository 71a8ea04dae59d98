PYTHON ?= python3
BENCHMARK ?= photos
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SITE := $(VENV)/.site
KEDRO := $(BIN)/kedro

.DEFAULT_GOAL := help
.PHONY: help run resume test lint docs results study bench agreement viz ui

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

# Made once; again only when the dependencies change.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || \
		{ echo "error: Python 3.11 to 3.13 is needed; name one with make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(READY) ## the whole pipeline on the embedded photographs (ENV=name, ARGS="--params ...")
	$(KEDRO) run $(if $(ENV),--env $(ENV)) $(ARGS)

resume: $(READY) ## go on with an interrupted run from its last finished stage
	$(KEDRO) run --only-missing-outputs $(if $(ENV),--env $(ENV)) $(ARGS)

test: $(READY) ## all tests
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --dist worksteal

lint: $(READY) ## style, types and the direction of dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Once for the site's own packages, which no run needs.
$(SITE): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# Not --quiet: --strict counts the warnings that are shown.
docs: $(SITE) ## the docs as a site: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The images of other benchmarks are not ours to pass on.
results: ## show a run's results in the docs (BENCHMARK=photos)
	mkdir -p docs/results docs/figures
	@cd data/08_reporting/$(BENCHMARK) && docs="$(CURDIR)/docs" && \
		moved='s#(../../../docs/#(../#g; s#(main_table.csv#($(BENCHMARK).csv#; s#(figures/#(../figures/$(BENCHMARK)_#' && \
		sed "$$moved" report.md > "$$docs/results/$(BENCHMARK).md" && \
		cp main_table.csv "$$docs/results/$(BENCHMARK).csv" && \
		for name in $(if $(filter photos,$(BENCHMARK)),example) delta_by_severity actions inaction; do \
			cp figures/$$name.png "$$docs/figures/$(BENCHMARK)_$$name.png" || exit; done && \
		for name in oracle sensitivity; do \
			test ! -f $$name.md || { sed "$$moved" $$name.md > "$$docs/results/$(BENCHMARK)_$$name.md" && \
				cp figures/$$name.png "$$docs/figures/$(BENCHMARK)_$$name.png"; } || exit; done && \
		test ! -f peers.md || { sed 's#(figures/#(../figures/#' peers.md > "$$docs/results/peers.md" && \
			cp figures/peers.png "$$docs/figures/peers.png"; }

study: $(READY) ## compare the projections and show that in the docs (two minutes)
	$(KEDRO) run --pipelines projection_study $(if $(ENV),--env $(ENV)) $(ARGS)
	mkdir -p docs/results docs/figures
	sed 's#(figures/#(../figures/#' data/08_reporting/$(BENCHMARK)/projection_study.md > docs/results/projection_study.md
	cp data/08_reporting/$(BENCHMARK)/figures/projection_study.png docs/figures/

# Outside the environment: frost would take its photographs from the peer in every run after this.
PEERS := $(VENV)/peers
$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ \
		imagecorruptions-imaug

bench: $(READY) $(PEERS) ## speed beside named peers, into the docs (ten minutes; IMAGES=folder of photographs)
	$(BIN)/python -m benchmarks
	PYTHONPATH=$(PEERS) $(BIN)/python -m benchmarks.corruptions --output docs/corruptions.md \
		--sheet docs/figures/shifts.jpg $(if $(IMAGES),--images "$(IMAGES)")

agreement: $(READY) $(PEERS) ## ours beside the released figures (REFERENCE=, IMAGENET=, CIFAR100= folders; six minutes)
	@test -n "$(REFERENCE)" && test -n "$(IMAGENET)$(CIFAR100)" || { echo "error: name the folders:" \
		"make agreement REFERENCE=folder, and IMAGENET=folder, CIFAR100=folder or both" >&2; exit 1; }
	PYTHONPATH=$(PEERS) $(BIN)/python -m benchmarks.agreement --reference "$(REFERENCE)" \
		$(if $(IMAGENET),--imagenet "$(IMAGENET)") $(if $(CIFAR100),--cifar100 "$(CIFAR100)")

# kedro-viz opens with all data sets; so it opens with the stages alone, which unfold.
viz: $(READY) ## the pipelines in kedro-viz (ENV=name)
	@echo 'the stages: http://127.0.0.1:4141/?types=nodes'
	@BROWSER="env -u BROWSER $(BIN)/python -m webbrowser %s?types=nodes" PYTHONWARNINGS=ignore \
		$(KEDRO) viz run $(if $(ENV),--env $(ENV))

ui: $(READY) ## the runs in MLflow; prints their address
	$(KEDRO) ui
