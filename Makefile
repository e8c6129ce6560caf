# Two commands are enough for a newcomer: `make demo` and `make test`.
# Everything below sets up its own virtual environment in .venv: with uv if it is there, with venv and pip otherwise.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready-dev
SOAK   := $(VENV)/.ready-soak

.PHONY: help demo test check format client laws soak bench test-clients schemas lock clean

help:  ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: $(READY)  ## a guard that is off, found and put right; then an agent is played with hooks in four layers
	@$(BIN)/python examples/demo.py

test: check  ## everything a change must pass: check, then the whole test suite
	@echo '==> tests'
	@$(BIN)/python -m pytest -q -n auto --randomly-seed=1 $(PYTEST_ARGS)

check: $(READY)  ## format, lint, types, dead code, old names, import directions
	@echo '==> format and lint'
	@$(BIN)/ruff format --check --quiet . || { echo 'run `make format`'; exit 1; }
	@$(BIN)/ruff check --quiet .
	@echo '==> types'
	@$(BIN)/mypy
	@echo '==> dead code'
	@$(BIN)/python scripts/dead_code.py
	@echo '==> old names'
	@$(BIN)/python scripts/old_names.py
	@echo '==> shape: rings, budgets, hot path'
	@$(BIN)/python -m pytest -q tests/test_shape.py

format: $(READY)  ## rewrite what the formatter and the linter can fix
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --quiet --fix .

client: $(READY)  ## compile the program that agents run (client/); setting up does it too, where there is a C compiler
	@$(BIN)/python client/build.py src/trotline/service/trotline-hook

laws: $(READY)  ## the property tests with examples that nobody has seen yet (`make test` always takes the same)
	@$(BIN)/python -m pytest -q -n auto -m hypothesis --hypothesis-profile=exploring $(PYTEST_ARGS)

soak: $(SOAK) laws  ## the long runs: property tests anew, fuzzing (FUZZ_SECONDS=3600), threads, a service killed again and again, mutation testing
	@$(BIN)/python scripts/fuzz.py --seconds $${FUZZ_SECONDS:-3600}
	@$(BIN)/python scripts/soak.py
	@$(BIN)/python scripts/soak_service.py
	@$(BIN)/python scripts/soak_audit_log.py
	@$(BIN)/python scripts/mutate.py

bench: $(READY)  ## measurements as ratios against a floor, in one interleaved run
	@$(BIN)/python bench/check.py
	@$(BIN)/python bench/engine.py
	@$(BIN)/python bench/embedding.py
	@$(BIN)/python bench/hook_path.py
	@$(BIN)/python bench/scan.py
	@$(BIN)/python bench/policy.py
	@$(BIN)/python bench/audit_log.py

test-clients: $(READY)  ## our installed line under real agents, offline (needs ../shared/clients; downloads much)
	@$(BIN)/python scripts/test_clients.py

schemas: $(READY)  ## write schemas/ and the generated reference pages anew from the declarations
	@$(BIN)/python scripts/generate.py

lock: $(READY)  ## resolve the locked requirements anew (needs uv)
	@PATH="$(BIN):$$PATH" sh scripts/lock.sh

clean:  ## remove what make made
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis mutants .fuzz src/trotline/service/trotline-hook

$(READY): pyproject.toml hatch_build.py client/build.py client/bare.h client/trotline_hook.c locks/dev.txt scripts/setup.sh
	@PYTHON='$(PYTHON)' sh scripts/setup.sh $(VENV) locks/dev.txt
	@touch $@

$(SOAK): $(READY) locks/soak.txt
	@PYTHON='$(PYTHON)' sh scripts/setup.sh $(VENV) locks/soak.txt
	@touch $@
