# make book        install everything, run every chapter, build the book and serve it on this machine
#                  with LIVE=1, add Python in the page, fetched from npm and the Pyodide distribution
# make test        run every check and every test
# make test-peers  run the tests with real PyTorch, real Paddle and software for classes, in separate environments
# make check       run the quick part: style, and the tests that concern the changes
# make notebooks   open the chapters in JupyterLab
# make bench       measure time and bytes beside numpy and other installed libraries
# make slides      serve the book, and print the address of its slides for a class
# make class       write notebooks, an nbgrader course and a question bank for a class: _build/class
# make zip         pack the site into one file that is read from the disk: _build/in-place.zip
# make links       list links to other sites that fail; needs the network
# make api         write the pages about the functions of memory-stage: _build/api
# make pdf         print the book with bookmarks: _build/in-place.pdf
# make clean       remove everything that these commands have made

PYTHON ?= python3                  # the interpreter of .venv: make book PYTHON=python3.12
REQUIREMENTS ?= requirements.txt   # requirements-gpu.txt on a machine with an NVIDIA GPU
PORT ?= 8000                       # the port of the served book; if it is in use, the next free one

PYTHON := $(strip $(PYTHON))
REQUIREMENTS := $(strip $(REQUIREMENTS))
PORT := $(strip $(PORT))
RUN := .venv/bin/python

.PHONY: book build links slides class zip pdf api test test-peers check bench notebooks environment clean

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

class: build
	@$(RUN) tools/class_material.py

zip: build
	@$(RUN) tools/pack.py

# The tests check the links between pages; this checks the links to other sites.
links: environment
	@$(dir $(RUN))jupyter-book build . --builder linkcheck

pdf: build
	@$(RUN) tools/pdf.py

api: environment
	@$(RUN) -m sphinx -q -W --keep-going -b html docs/api _build/api

bench: environment
	@$(RUN) -m benchmarks

# The only user of many containers is root, and Jupyter runs as root only with this option.
notebooks: environment
	JUPYTER_CONFIG_PATH=tools/jupyter $(RUN) -m jupyterlab chapters $(if $(filter 0,$(shell id -u)),--allow-root)

environment:
	@$(PYTHON) tools/environment.py $(REQUIREMENTS)

clean:
	rm -rf .venv _build build *.egg-info .pytest_cache .ruff_cache .mypy_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
