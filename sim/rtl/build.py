"""Simulator executables for generated Verilog, built once and kept in a cache."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from isa.config import MachineConfig
from isa.files import locked, write_atomically
from sim.rtl.compiler import compiler_name, first_line, processor_options
from sim.rtl.garbage import OPTIONS
from sim.rtl.interrupts import temporary_folder
from sim.rtl.memory import READ_LATENCY
from sim.rtl.model_files import quickened
from sim.rtl.tools import SimulatorError, require, run_tool
from sim.rtl.verilator import VERILATOR_OPTIONS, Toolchain, verilator_root

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SIMULATORS = ("verilator", "icarus")
BENCH_SOURCES = ("testbench.v", "dram.v", "stalls.v", "axi_checker.v")
HEADERS = ("clocks.h", "signs.h", "board.h")
BUILDERS = ("build.py", "model_files.py", "verilator.py")
"""The modules that make executables of these sources."""
FAST_CLOCK_DEFINE = "TILEWRIGHT_CLK2X"
"""The define that says that the machine has a second clock."""
MOST_PORTS = 8
"""The most ports to memory that ``testbench.v`` connects."""
COCOTB_MAIN = "lib/verilator/verilator.cpp"
"""cocotb's C++ main, below its folder of shared files."""


@dataclass(frozen=True)
class Build:
    """One simulator executable. All fields are part of its key in the cache."""

    simulator: str
    verilog: str
    parameters: Mapping[str, int]
    """The Verilog parameters of the top module."""
    extra_sources: tuple[str, ...] = ()
    """The names of further files in this folder, or the paths of others: the C++ main or a clock."""
    top: str = "tilewright_bench"
    defines: tuple[str, ...] = ()
    cocotb: bool = False
    """Whether cocotb drives it, in place of a C++ main or a clock of its own."""
    garbage: bool = False
    """Whether all that has no value is filled at random (Verilator only; see ``sim.rtl.garbage``)."""
    host: str = "host.v"
    """The module on the AXI4-Lite bus: ``host.v`` plays a script, ``port.v`` serves the program that links the library."""
    library: bool = False
    """Whether it is a shared library, not an executable (Verilator only)."""
    coverage: bool = False
    """Whether it counts which branches are taken and which bits toggle (Verilator only; see ``sim.rtl.coverage``)."""
    brief: bool = False
    """Whether it is for programs of some thousand cycles: it takes less time to build, and runs slower (Verilator only)."""

    @property
    def program(self) -> str:
        """The file name of the executable. cocotb's runner has its own names for it."""
        if not self.cocotb:
            return "sim"
        return "sim.vvp" if self.simulator == "icarus" else self.top

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the files in this folder that it needs."""
        return (*BENCH_SOURCES, self.host, *self.extra_sources)

    @property
    def key(self) -> str:
        choices = (
            self.simulator, sorted(self.parameters.items()), self.top, self.defines, self.cocotb, self.garbage, self.library,
            self.coverage, self.brief,
        )  # fmt: skip
        digest = hashlib.sha256(repr(choices).encode())
        for name in (*self.sources, *HEADERS, *BUILDERS):
            digest.update((HERE / name).read_bytes())
        digest.update(self.verilog.encode())
        digest.update(repr(compiler_versions(self.simulator, self.brief)).encode())
        if self.cocotb:
            # The executable is linked to cocotb where it is installed: another environment needs another one.
            digest.update(repr(_cocotb_options()).encode())
        return digest.hexdigest()[:24]


def bench_defines(config: MachineConfig, cores: int = 1) -> tuple[str, ...]:
    """The defines that tell the bench which optional units the machine lacks, whether it has a second clock, how many ports to
    memory, and that there are several machines."""
    alone, ports = cores == 1, cores * config.axi_ports
    if ports > MOST_PORTS:
        raise SimulatorError(
            f"cores {cores}: with {config.axi_ports} ports each (axi_ports) they have {ports} to memory, and the bench "
            f"connects {MOST_PORTS}; ask for {MOST_PORTS // config.axi_ports}"
        )
    told = {
        "TILEWRIGHT_NO_POOL": alone and not config.build_pool,
        "TILEWRIGHT_NO_MISC": alone and not config.build_misc,
        "TILEWRIGHT_NO_ROW": alone and not config.build_rows,
        FAST_CLOCK_DEFINE: config.array_clock > 1,
        "TILEWRIGHT_CORES": not alone,
        **{f"TILEWRIGHT_PORTS_{number}": number <= ports for number in range(2, MOST_PORTS + 1)},
    }
    return tuple(name for name, holds in told.items() if holds)


def bus_limits(config: MachineConfig, cores: int = 1) -> dict[str, int]:
    """The parameters of the AXI checker: the limits of the machines, and how many they are."""
    ports = cores * config.axi_ports
    found = {"MAX_BEATS": config.burst_beats * config.axi_ports, "MAX_READS": config.axi_reads, "PORTS": ports}
    return found if cores == 1 else {**found, "CORES": cores}


def memory_parameters(config: MachineConfig, memory_bytes: int) -> dict[str, int]:
    """The parameters of the bench's memory, whose words are as wide as a port."""
    return {
        "DATA_BITS": config.axi_port_bits, "ADDR_BITS": config.axi_addr_bits,
        "MEMORY_WORDS": memory_bytes // (config.axi_port_bits // 8), "LATENCY": READ_LATENCY,
    }  # fmt: skip


def cache_directory(cache: Path | str | None = None) -> Path:
    """The directory given, or ``tilewright`` in the user's cache directory."""
    if cache is not None:
        return Path(cache)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilewright"


def core_verilog(config: MachineConfig, cache: Path | str | None = None, *, dsp48e2: bool = False, cores: int = 1) -> str:
    """The Verilog of the machine, cached under the hash of its generator's sources. ``dsp48e2`` and ``cores``: see
    ``hw.emit``."""
    return _emitted(config, cache, dsp48e2, cores).read_text()


def core_sources(config: MachineConfig, cache: Path | str | None = None, *, dsp48e2: bool = False) -> dict[str, str]:
    """The ``file:line`` of every signal of the machine, by its path in the machine."""
    sources: dict[str, str] = json.loads(_emitted(config, cache, dsp48e2, 1).with_suffix(".json").read_text())
    return sources


def _emitted(config: MachineConfig, cache: Path | str | None, dsp48e2: bool, cores: int) -> Path:
    """The path of the Verilog in the cache. The file beside it, which is written first, says where its signals come from."""
    machine = replace(config, dram_latency=READ_LATENCY)  # which no machine knows
    digest = hashlib.sha256(machine.to_json().encode() + bytes([dsp48e2, cores]))
    for folder in ("hw", "isa"):
        for source in sorted((ROOT / folder).rglob("*.py")):
            digest.update(source.relative_to(ROOT).as_posix().encode() + source.read_bytes())
    directory = cache_directory(cache) / "verilog"
    path = directory / f"{config.name}-{digest.hexdigest()[:24]}.v"
    if not path.exists():
        from hw.emit import emit

        emitted = emit(config, dsp48e2=dsp48e2, cores=cores)
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(path.with_suffix(".json"), json.dumps(emitted.sources).encode())
        write_atomically(path, emitted.text.encode())
    return path


def executable(build: Build, cache: Path | str | None = None) -> Path:
    """The path of the built simulator, which is built unless the cache has it. Safe for parallel processes."""
    directory = cache_directory(cache) / "rtl"
    target = directory / build.key
    if not target.exists():
        directory.mkdir(parents=True, exist_ok=True)
        with locked(directory / f"{build.key}.lock"):
            if not target.exists():
                _make(build, directory, target)
    return target / build.program


def compiler_versions(simulator: str, brief: bool = False) -> tuple[str, ...]:
    """The versions of all tools that build: a new tool gives a new build. ``brief`` as in ``Build``."""
    if simulator == "icarus":
        return (first_line([require("iverilog", simulator), "-V"]),)
    from importlib.metadata import version

    verilator_root()
    compiler = compiler_name(brief)
    for tool in (compiler, "make"):
        require(tool, simulator)
    return version("verilator"), first_line([compiler, "--version"]), *processor_options(compiler)


def _make(build: Build, directory: Path, target: Path) -> None:
    with temporary_folder(directory) as work:
        (work / "core.v").write_text(build.verilog)
        result = work / "result"
        result.mkdir()
        program = str(result / build.program)
        sources = [str(HERE / name) for name in build.sources] + ["core.v"]
        flags = [f"-D{name}" for name in build.defines]
        if build.simulator == "icarus":
            flags += [f"-P{build.top}.{name}={value}" for name, value in build.parameters.items()]
            command = [require("iverilog", "icarus"), "-g2012", "-o", program, "-s", build.top, *flags, *sources]
            run_tool(command, cwd=work, env=None, what="iverilog")
        else:
            _verilate(build, work, directory, flags)
        os.rename(result, target)


def _verilate(build: Build, work: Path, directory: Path, flags: Sequence[str]) -> None:
    """Writes the model's C++ in the folder ``obj`` and compiles it to ``result``. Every path that make sees is a link there."""
    options = list(VERILATOR_OPTIONS)
    for option, value in OPTIONS.items() if build.garbage else ():
        options[options.index(option) + 1] = value
    sources = {Path(name).name: HERE / name for name in build.sources}
    tools = Toolchain(build.brief, {"bench": HERE} | sources | (_cocotb_links() if build.cocotb else {}))
    objects = tools.prepared(work)
    command = [*options, "--top-module", build.top, "-o", f"../result/{build.program}", *flags]
    command += [f"-G{name}={value}" for name, value in build.parameters.items()]
    command += [f"../{name}" for name in sources] + ["../core.v"]
    command += ["-CFLAGS", " ".join(("-I../bench", *(f"-D{name}" for name in build.defines)))]
    if build.coverage:
        command += ["--coverage-line", "--coverage-toggle"]
    if build.library:
        command += ["-CFLAGS", "-fPIC", "-LDFLAGS", "-shared"]
    if build.cocotb:
        command += _cocotb_options()
    tools.verilate(objects, command)
    for header in objects.glob("*___024root.h"):
        header.write_text(quickened(header.read_text()))
    prefix = "Vtop" if build.cocotb else f"V{build.top}"
    with runtime_objects(directory, objects, build):
        tools.compile(objects, prefix, _own_cpp(build))


@contextmanager
def runtime_objects(directory: Path, objects: Path, build: Build) -> Iterator[None]:
    """Provides the objects of Verilator's own sources that are part of every simulation. The first build of a kind compiles and
    keeps them.

    The context begins after Verilator: its makefile must not be newer than the objects.
    """
    tools = compiler_versions(build.simulator, build.brief)
    kind = repr((tools, VERILATOR_OPTIONS, build.coverage, build.library, build.cocotb))
    kept = directory / f"runtime-{hashlib.sha256(kind.encode()).hexdigest()[:24]}"
    known = kept.is_dir()
    for file in kept.glob("*.o") if known else ():
        shutil.copyfile(file, objects / file.name)
    yield
    if not known:
        with temporary_folder(directory) as work:
            new = work / "runtime"
            new.mkdir()
            for file in objects.glob("verilated*.o"):
                shutil.copyfile(file, new / file.name)
            with suppress(OSError):  # another build was first
                os.rename(new, kept)


def _cocotb_links() -> dict[str, Path]:
    """The folders in which cocotb keeps its libraries and its C++ main."""
    from cocotb_tools import config

    return {"cocotb_libs": Path(config.libs_dir), "cocotb_share": Path(config.share_dir)}


def _cocotb_options() -> list[str]:
    """The options of cocotb's runner for Verilator, without ``--public-flat-rw``, which costs most of the speed."""
    search = shlex.quote(str(_cocotb_links()["cocotb_libs"]))
    link = f"-Wl,-rpath,{search} -L../cocotb_libs -lcocotbvpi_verilator"
    return ["--vpi", "--prefix", "Vtop", "-LDFLAGS", link, f"../cocotb_share/{COCOTB_MAIN}"]


def _own_cpp(build: Build) -> list[Path]:
    """The C++ files beside the model's."""
    own = [HERE / name for name in build.extra_sources if name.endswith(".cpp")]
    return [*own, _cocotb_links()["cocotb_share"] / COCOTB_MAIN] if build.cocotb else own
