# make book       set up, run every chapter, build the book and serve it on this machine
#                it has Python in its pages with LIVE=1, brought by npm and from the Pyodide distribution
# make test       everything that has to hold
# make test-peers the tests with real PyTorch and real Paddle, each in an environment of its own
# make check      the quick part of it: style, and the tests of what has changed
# make notebooks  JupyterLab on the chapters
# make bench      what operations, chains and networks cost, beside numpy and the libraries installed
# make slides     the same, at its slides for a class
# make zip        the whole site in one file that opens from the disk: _build/in-place.zip
# make links      what links to other places lead nowhere; needs the network
# make pdf        the whole book on paper, with bookmarks: _build/in-place.pdf
# make clean      remove what the above have made

PYTHON ?= python3                  # the interpreter to set up with: make book PYTHON=python3.12
REQUIREMENTS ?= requirements.txt   # requirements-gpu.txt on a machine with an NVIDIA GPU
PORT ?= 8000                       # of the served book; the next free one is taken

PYTHON := $(strip $(PYTHON))
REQUIREMENTS := $(strip $(REQUIREMENTS))
PORT := $(strip $(PORT))
RUN := .venv/bin/python

.PHONY: book build links slides zip pdf test test-peers check bench notebooks environment clean

book: build
	@$(RUN) tools/serve.py --port $(PORT)

build: environment
	@$(RUN) tools/build.py

test: environment
	@$(RUN) tools/check.py --all

test-peers: environment
	@$(RUN) tools/peers.py

check: environment
	@$(RUN) tools/check.py

slides: build
	@$(RUN) tools/serve.py --port $(PORT) --page slides/

zip: build
	@$(RUN) tools/pack.py

# The links between pages are looked at by the tests; this follows those to other places.
links: environment
	@$(dir $(RUN))jupyter-book build . --builder linkcheck

pdf: build
	@$(RUN) tools/pdf.py

bench: environment
	@$(RUN) -m benchmarks

# Jupyter refuses to run as root, the only user of many containers, unless it is told to.
notebooks: environment
	JUPYTER_CONFIG_PATH=tools/jupyter $(RUN) -m jupyterlab chapters $(if $(filter 0,$(shell id -u)),--allow-root)

environment:
	@$(PYTHON) tools/environment.py $(REQUIREMENTS)

clean:
	rm -rf .venv _build build *.egg-info .pytest_cache .ruff_cache .mypy_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
