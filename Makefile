# Everything a person does with a checkout. `make chat` and `make test` need python3 >= 3.11, venv and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: chat web test dev check package bench eval torture picture clean

chat: $(VENV)/.chat
	@$(BIN)/thoughtcycle chat $(ARGS)

web: $(VENV)/.web
	@$(BIN)/thoughtcycle web $(ARGS)

test: $(VENV)/.dev
	$(BIN)/pytest $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	env PYTHONPATH=tests $(BIN)/python -m support.pyright

package: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -c "from setuptools.build_meta import build_sdist, build_wheel; build_sdist('dist'); build_wheel('dist')"
	for built in dist/*; do PYTHON=$(PYTHON) tests/installed.sh $$built || exit; done

dev: $(VENV)/.dev
	umask 077; LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=1 THOUGHTCYCLE_USER=$${THOUGHTCYCLE_USER:-local} \
		$(BIN)/langgraph dev --no-browser --n-jobs-per-worker 10 $(ARGS)

bench: $(VENV)/.bench
	PYTHONPATH=tests $(BIN)/python -m benchmarks $(ARGS)

torture: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m torture $(ARGS)
	TORTURE_SAMPLE=0 $(BIN)/pytest -q tests/integration/test_formation_crash.py \
		tests/integration/test_formation_abandoned.py tests/integration/test_formation_two_workers.py \
		tests/integration/test_nothing_comes_back.py tests/integration/test_embedded_erasing.py \
		tests/integration/test_erased_bytes.py tests/integration/test_proof.py tests/e2e/test_dev_server_erasing.py

eval: $(VENV)/.dev
	$(BIN)/python -m thoughtcycle.evals.rules $(ARGS)
	$(BIN)/thoughtcycle eval messages
	$(BIN)/thoughtcycle eval funnel $(if $(DATA),--data $(DATA)/locomo)
	$(BIN)/thoughtcycle eval reconcile $(if $(DATA),--data $(DATA)/sick-br)
ifdef DATA
	$(BIN)/thoughtcycle eval locomo --data $(DATA)/locomo
	$(BIN)/thoughtcycle eval prefeval --data $(DATA)/prefeval
	$(BIN)/thoughtcycle eval economy --data $(DATA)/locomo
	$(BIN)/thoughtcycle eval compression --data $(DATA)/locomo
endif

picture: $(VENV)/.dev
	$(BIN)/python docs/pictures.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache *.egg-info build dist

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "thoughtcycle needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.chat: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.web: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[web]'
	@touch $@ $(VENV)/.chat

$(VENV)/.bench: pyproject.toml | $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.chat
