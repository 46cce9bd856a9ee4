# `make test` and the targets below work from a fresh clone: each makes the environment it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
JOBS ?= 2
CONFIG ?= nano
SEED ?= 0
COUNT ?= 20000
MEMORY ?= bench
DEVICE ?= LFE5U-85F
TRAINED ?= ../shared/models

export AMARANTH_USE_YOSYS := builtin

.PHONY: help demo docs soc ulx3s test test-all check fuzz prove mutants python-mutants coverage networks rtl-full bench wheel lint types env lock clean

help:
	@echo "make demo    generate the machine, compile a model, run it on the RTL, compare every tensor"
	@echo "make soc     firmware on a RISC-V processor with nano beside it, in Verilator; MEMORY=sdram: as on the board"
	@echo "make ulx3s   the same system as a bitstream for the ULX3S board (DEVICE=$(DEVICE)), by the open tools"
	@echo "make test    lint, types and the suite without its slow tests (JOBS=$(JOBS) processes)"
	@echo "make test-all  lint, types and the whole suite; TILEWRIGHT_FUZZ_MINUTES=10 of it fuzzing"
	@echo "make lint    ruff"
	@echo "make types   mypy, strict"
	@echo "make check   the whole suite alone; ARGS='tests/isa -k assembler' chooses"
	@echo "make fuzz    $(COUNT) random programs from seed $(SEED) on the RTL of $(CONFIG), whole memories compared"
	@echo "make prove   properties of the parts of $(CONFIG), proved for every input"
	@echo "make mutants  faults put into the Verilog of $(CONFIG), and which of them programs and benches find (hours)"
	@echo "make python-mutants  faults put into compiler and functional simulator, and which of them their tests find (hours)"
	@echo "make coverage  branches and bits of the Verilog of $(CONFIG) that benches and random programs reach"
	@echo "make networks  all networks at full size on the functional simulator, into docs/results/networks.md; ARGS chooses"
	@echo "make rtl-full  the large networks on the RTL of base, the short ones on zu2 too, into docs/results/networks.md"
	@echo "make bench     every table of the documentation, one script of bench/ after the other (hours)"
	@echo "make docs      the site of docs/ in build/site, strict about links"
	@echo "make wheel     build the wheel, install it into an empty environment, and compile a model there"
	@echo "make env     only the environment, in $(VENV)"
	@echo "make lock    renew requirements.lock from pyproject.toml (needs uv)"
	@echo "make clean   remove the environment and everything that was built"

demo: tools $(READY)
	@$(BIN)/python -m demo.run

soc: tools $(READY)
	@$(BIN)/python -m soc simulate --memory $(MEMORY)

ulx3s: tools $(READY)
	@$(BIN)/python -m soc ulx3s --device $(DEVICE)

test: override ARGS += -m "not slow"
test: lint types check

test-all: lint types check

check: tools $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

fuzz: tools $(READY)
	$(BIN)/tilewright fuzz --config $(CONFIG) --seed $(SEED) --count $(COUNT) --engine rtl

prove: $(READY)
	$(BIN)/tilewright prove --config $(CONFIG)

mutants: tools $(READY)
	$(BIN)/python -m bench.mutants --config $(CONFIG) $(ARGS)

python-mutants: $(READY)
	$(BIN)/python -m bench.python_mutants $(ARGS)

coverage: tools $(READY)
	$(BIN)/python -m bench.coverage --config $(CONFIG) $(ARGS)

networks: $(READY)
	$(BIN)/python -m bench.networks --workers 1 $(ARGS)

rtl-full: tools $(READY)
	TILEWRIGHT_RTL_CONFIGS=base,zu2 $(BIN)/python -m pytest --durations 0 tests/e2e/test_rtl_networks.py tests/cocotb/test_cocotb_networks.py
	$(BIN)/python -m bench.networks_rtl --workers 1 $(ARGS)
	$(BIN)/python -m bench.networks_rtl --workers 1 --best $(ARGS)

# The quick ones first; whole networks on the RTL are `make rtl-full`. The last five run yosys.
bench: tools $(READY)
	$(BIN)/python -m bench.functional_speed
	$(BIN)/python -m bench.native_speed squeezenet mobilenet_v2 googlenet resnet50_v1 resnet152_v1
	$(BIN)/python -m bench.rtl_speed
	$(BIN)/python -m bench.conv_occupancy
	$(BIN)/python -m bench.move_bandwidth
	$(BIN)/python -m bench.cycle_model_error --networks
	$(BIN)/python -m bench.plan_error
	$(BIN)/python -m bench.least_cycles
	$(BIN)/python -m bench.dram_traffic
	for config in base zu2 zu9; do $(BIN)/python -m bench.strategies cycles --config $$config || exit 1; done
	$(BIN)/python -m bench.since_first
	$(BIN)/python -m bench.since_first squeezenet vgg16_convolutions resnet50_v1 mobilenet_v2 googlenet --effort full --config zu9
	$(BIN)/python -m bench.strategies dram --kib 64 128 256 512 1024 2048 --batch 1 4
	$(BIN)/python -m bench.like_for_like
	$(BIN)/python -m bench.architectures
	$(BIN)/python -m bench.deep_fusion
	$(BIN)/python -m bench.bounds
	$(BIN)/python -m bench.bounds --effort full
	$(BIN)/python -m bench.schemes order
	$(BIN)/python -m bench.schemes flow
	$(BIN)/python -m bench.schemes random
	$(BIN)/python -m bench.chosen_groups
	$(BIN)/python -m bench.sentences
	$(BIN)/python -m bench.memory_order
	$(BIN)/python -m bench.memory_order --programme
	$(BIN)/python -m bench.memory_order --parts
	$(BIN)/python -m bench.chip_lifetimes
	$(BIN)/python -m bench.memory_work
	$(BIN)/python -m bench.memory_work --least
	$(BIN)/python -m bench.large_models
	$(BIN)/python -m bench.networks --workers 1
	for form in "" --naive --dynamo; do $(BIN)/python -m bench.exports $$form || exit 1; done
	$(BIN)/python -m bench.hold_out
	$(BIN)/python -m bench.explore
	$(BIN)/python -m bench.explore_scaling
	$(BIN)/python -m bench.four_bits
	$(BIN)/python -m bench.long_layers
	$(BIN)/python -m bench.row_definitions
	$(BIN)/python -m bench.transformers
	$(BIN)/python -m bench.transformers swin_tiny --row-words 96
	$(BIN)/python -m bench.transformer_bounds
	$(BIN)/python -m bench.trained $(TRAINED)
	$(BIN)/python -m bench.labelled $(TRAINED)
	$(BIN)/python -m bench.quantised
	$(BIN)/python -m bench.quantised --exact densenet121
	$(BIN)/python -m bench.quantised --int4 --size 64 squeezenet resnet18 mobilenet_v2
	$(BIN)/python -m bench.configurations 0 60
	$(BIN)/python -m bench.configurations nano
	$(BIN)/python -m bench.scheme_limits
	$(BIN)/python -m bench.efforts squeezenet
	$(BIN)/python -m bench.efforts mobilenet_v2 resnet50_v1 googlenet --effort quick normal
	$(BIN)/python -m bench.latency
	for effort in quick normal; do $(BIN)/python -m bench.cores --effort $$effort || exit 1; done
	$(BIN)/python -m bench.cores --ports 1
	$(BIN)/python -m bench.cores --share
	$(BIN)/python -m bench.batches
	$(BIN)/python -m bench.resources
	$(BIN)/python -m bench.size_model
	$(BIN)/python -m bench.timing nano base
	$(BIN)/python -m bench.multipliers
	$(BIN)/python -m bench.netlist

# Opened with a browser, or served by `python -m http.server -d build/site`, which the search asks for.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "build/site/index.html"

# What a user gets: built, installed with what it asks for from PyPI into an empty environment, used far from the clone.
wheel: $(READY)
	rm -rf dist build/wheel
	$(BIN)/python -m build --no-isolation --outdir dist
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	cd build && wheel/bin/tilewright --help
	cd build && wheel/bin/tilewright compile ../demo/digits.onnx --calibrate ../demo/digits_calibration.npz -o wheel/digits.elf
	cd build && wheel/bin/tilewright check ../demo/digits.onnx --calibrate ../demo/digits_calibration.npz
	cd build && wheel/bin/tilewright driver -o wheel/driver

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy --num-workers $(JOBS) || { [ $$? = 2 ] && $(BIN)/mypy; } # 2: on a busy machine workers may start too late

env: $(READY)

# The environment holds exactly what the lock file names.
$(VENV)/locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is missing or older than 3.11: apt-get install python3, or make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "Python's venv is missing: apt-get install python3-venv" >&2; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# The project itself is installed in place, without dependencies: it brings the command `tilewright`.
$(READY): $(VENV)/locked pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compiler.programs.natives >/dev/null
	@touch $@

# The RTL simulator compiles what it simulates.
.PHONY: tools
tools:
	@command -v g++ >/dev/null || { echo "g++ is missing: apt-get install g++" >&2; exit 1; }

lock:
	uv pip compile pyproject.toml --all-extras --group test --group lint --group build --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
