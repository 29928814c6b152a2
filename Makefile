# Every target works as the first command on a fresh machine that has Python 3.13 (on PATH, or under pyenv) and make.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

export PYTHON := $(shell for python in python3.13 "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.13*/bin/python3.13; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null && { command -v "$$python"; break; }; done)
export SAM_CLI_TELEMETRY := 0

DEV := .venv/dev/bin
SAM := .venv/sam/bin
TOOLS := $(foreach venv,dev sam cli ministack go compiler release go-tools,.venv/$(venv)/.installed)
ARCHITECTURE ?= arm64
PYTEST_ARGUMENTS ?=
OBJECTS ?= functions/objects.yaml
BUILT ?= .aws-sam/build
COMPILER := PYTHONPATH=functions .venv/compiler/bin/python -m compiler

# Finds the control plane or builds it, once, with progress. It stops the target if that fails.
WITH_ASSETS = KUBEBUILDER_ASSETS="$$($(DEV)/python -m tests.support.assets | tail -n 1)"; export KUBEBUILDER_ASSETS;

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-10s %s\n", $$1, $$2 }'

.PHONY: demo
demo: $(TOOLS) ## deploy to a local emulator and watch it refresh a real API server (KEEP=1 leaves it running, FROM=dist takes a release)
	@$(WITH_ASSETS) PYTHONPATH=functions $(DEV)/python -m tests.demo

.PHONY: demo-adopt
demo-adopt: $(TOOLS) ## take over Secrets that something else wrote: check, import, adopt, refresh
	@$(WITH_ASSETS) PYTHONPATH=functions $(DEV)/python -m tests.demo_adopt

.PHONY: test
test: $(TOOLS) ## run all tests but the long ones
	$(WITH_ASSETS) \
		$(DEV)/python -m pytest -m "not soak" -n 3 $(PYTEST_ARGUMENTS)

.PHONY: soak
soak: $(TOOLS) ## run the long proofs and print their figures
	$(WITH_ASSETS) \
		$(DEV)/python -m pytest -m soak -s $(PYTEST_ARGUMENTS)

.PHONY: versions
versions: $(TOOLS) ## run the tests of what Kubernetes does on the newest and on the oldest version
	$(DEV)/python -m tests.versions $(PYTEST_ARGUMENTS)

.PHONY: bench
bench: $(TOOLS) .venv/bench/.installed ## measure the performance targets side by side, and plot them (PARTS="own_time …")
	@$(WITH_ASSETS) PYTHONPATH=functions \
		$(DEV)/python -m bench $(PARTS)

.PHONY: figures
figures: .venv/dev/.installed ## write the figures of bench/results.json into docs/performance.md
	@PYTHONPATH=functions $(DEV)/python -m bench.page

.PHONY: dashboard
dashboard: $(TOOLS) .venv/bench/.installed ## draw the dashboard from the records of a local run, for the README
	$(WITH_ASSETS) PYTHONPATH=functions \
		$(DEV)/python -m tests.dashboard .venv/bench/bin/python docs/images/dashboard.png

.PHONY: parameters
parameters: .venv/dev/.installed ## make docs/parameters.md of the template
	@$(DEV)/python -m tests.operations.parameters

.PHONY: evidence
evidence: .venv/dev/.installed ## answer the saved queries of the template from a log (LOG=file, or LOG=- for stdin)
	@$(DEV)/python -m tests.evidence $(LOG)

.PHONY: check
check: lint test ## everything that CI checks

.PHONY: lint
lint: $(foreach venv,dev sam lint checkov go-tools,.venv/$(venv)/.installed) ## format, lint, types, imports, templates, workflows
	$(DEV)/ruff format --check .
	$(DEV)/ruff check .
	$(DEV)/mypy
	PYTHONPATH=functions $(DEV)/lint-imports --no-cache
	$(SAM)/cfn-lint template.yaml fleet/member.yaml
	$(SAM)/sam validate --lint --template template.yaml --region us-east-1
	.venv/checkov/bin/checkov --config-file .checkov.yaml
	.venv/go-tools/actionlint
	.venv/lint/bin/zizmor --offline --pedantic .github

.PHONY: format
format: .venv/dev/.installed ## format the code
	$(DEV)/ruff format .
	$(DEV)/ruff check --fix .

.PHONY: assets
assets: .venv/dev/.installed .venv/go/.installed ## find or build the control plane; the last line is its folder
	@$(DEV)/python -m tests.support.assets

.PHONY: build
build: .venv/sam/.installed ## build what ships (ARCHITECTURE=arm64 or x86_64, OBJECTS=my.yaml)
	@# Without MAKEFLAGS, by which the make that sam runs would have OBJECTS as it was given.
	MAKEFLAGS= OBJECTS="$(if $(filter /%,$(OBJECTS)),,$(CURDIR)/)$(OBJECTS)" \
		$(SAM)/sam build --parameter-overrides Architecture=$(ARCHITECTURE)

.PHONY: objects
objects: .venv/compiler/.installed ## put a file of objects into the built functions (OBJECTS=my.yaml)
	@test -n "$(wildcard $(BUILT)/*Function)" || { echo "No function is in $(BUILT): make build" >&2; exit 1; }
	@$(COMPILER) "$(OBJECTS)" $(wildcard $(BUILT)/*Function)

.PHONY: rbac
rbac: .venv/compiler/.installed ## print the roles for a file of objects (OBJECTS=my.yaml CLUSTER=name ADOPTER=1)
	@$(COMPILER) --rbac $(if $(ADOPTER),--adopter) $(if $(CLUSTER),--cluster "$(CLUSTER)") "$(OBJECTS)"

.PHONY: compiler
compiler: .venv/compiler/.installed ## pack the compiler, which needs Python 3.13 alone: compiler.pyz OBJECTS FUNCTION...
	@PYTHONPATH=functions "$(PYTHON)" -m tests.release.compiler dist/compiler.pyz

.PHONY: release
release: .venv/compiler/.installed .venv/release/.installed ## write dist: all that a deployment needs, without this repository
	@built="$$(mktemp -d)"; trap 'rm -rf "$$built"' EXIT; \
	  for name in RefreshFunction AdoptFunction DependenciesLayer; do \
	    mkdir "$$built/$$name"; folder=functions; [ "$$name" != DependenciesLayer ] || folder=layers/dependencies; \
	    echo "==> building $$name" >&2; $(MAKE) --silent -C "$$folder" "build-$$name" OBJECTS= ARTIFACTS_DIR="$$built/$$name" >&2; \
	  done; \
	  PYTHONPATH=functions "$(PYTHON)" -m tests.release "$$built" "$$built/dist"; rm -rf dist; mv "$$built/dist" dist

.PHONY: lock
lock: .venv/dev/.installed ## pin all requirements anew, with hashes
	lock() { $(DEV)/uv pip compile --quiet --upgrade --generate-hashes --no-header --no-emit-index-url \
		--no-emit-find-links --python-version 3.13 --universal "$$1.in" --output-file "$$1.txt" "$${@:2}"; }; \
	lock layers/dependencies/requirements; \
	lock functions/compiler/requirements; \
	for file in tests/requirements/*.in; do lock "$${file%.in}"; done

.PHONY: clean
clean: ## remove everything that was built here
	rm -rf .venv .aws-sam .out dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# Nothing of this goes to standard output, which may be read by a program.
define INSTALL
	@test -n "$(PYTHON)" || { echo "Python 3.13 is needed: on PATH, or in pyenv's folder (PYENV_ROOT, or ~/.pyenv)" >&2; exit 1; }
	@echo "==> installing $(@D): $$(grep -c == $<) packages" >&2
	@rm -rf $(@D)
	@SECONDS=0; "$(PYTHON)" -m venv $(@D) >&2; \
	  $(@D)/bin/pip --disable-pip-version-check install --quiet --require-hashes --requirement $< >&2; \
	  echo "    took $$SECONDS s" >&2
	@touch $@
endef

.venv/compiler/.installed: functions/compiler/requirements.txt
	$(INSTALL)

# Programs that are written in Go; go.sum has their hashes.
.venv/go-tools/.installed: tests/go-tools/go.mod tests/go-tools/go.sum .venv/go/.installed
	@echo "==> building $(@D)" >&2
	@rm -rf $(@D)
	@SECONDS=0; cd tests/go-tools; \
	  GOTOOLCHAIN=local CGO_ENABLED=0 GOBIN="$(CURDIR)/$(@D)" ../../.venv/go/bin/go install -trimpath tool >&2; \
	  echo "    took $$SECONDS s" >&2
	@touch $@

.venv/%/.installed: tests/requirements/%.txt
	$(INSTALL)
