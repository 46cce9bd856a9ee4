"""onnxruntime sends nothing and keeps nothing: the one place that starts it, and what a process does that compiles and runs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from sim.runtime.sessions import make_session, onnxruntime
from tests.tilewright.small_models import float_model

ROOT = Path(__file__).parents[3]
SESSIONS = Path("sim/runtime/sessions.py")
PARTS_ALLOWED = dict.fromkeys((Path("compiler/zoo/quantised.py"), Path("bench/accuracy.py")), "onnxruntime.quantization")
"""Where a part of onnxruntime is loaded, after ``sim.runtime.sessions``."""
SOURCES = [
    path.relative_to(ROOT)
    for folder in ("isa", "compiler", "sim", "driver", "tilewright", "bench", "demo")
    for path in (ROOT / folder).rglob("*.py")
]
WATCH = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
static void tell(const char *call) {
    FILE *file = fopen(getenv("CALLS"), "a");
    fprintf(file, "%s\\n", call);
    fclose(file);
}
int socket(int domain, int type, int protocol) {
    tell("socket");
    return ((int (*)(int, int, int))dlsym(RTLD_NEXT, "socket"))(domain, type, protocol);
}
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    tell("getaddrinfo");
    return EAI_FAIL;
}
"""
COMPILE_AND_RUN = """
import sys
from tilewright.cli import main
for words in sys.argv[1].split(";"):
    assert main(words.split()) == 0, words
"""
RAW = "import onnxruntime; onnxruntime.InferenceSession('model.onnx', providers=['CPUExecutionProvider'])"
RESOLVE = "import socket; socket.socket().close()"


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_one_place_loads_onnxruntime_and_makes_sessions() -> None:
    assert SESSIONS in SOURCES
    for path in SOURCES:
        text = (ROOT / path).read_text(encoding="utf-8")
        if path == SESSIONS or "onnxruntime" not in text:
            continue
        tree = ast.parse(text)
        loaded = [name for name in imports(tree) if name.partition(".")[0] == "onnxruntime"]
        allowed = PARTS_ALLOWED.get(path)
        assert all(allowed is not None and name.startswith(allowed) for name in loaded), f"{path}: take it from {SESSIONS}"
        names = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        made = [ast.unparse(name) for name in names if ast.unparse(name).endswith("InferenceSession")]
        assert made == [], f"{path}: take make_session from {SESSIONS}"


@pytest.fixture(scope="module")
def watcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that notes who asks for a socket or a host's address."""
    folder = tmp_path_factory.mktemp("watcher")
    (folder / "watch.c").write_text(WATCH)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "watch.so", "watch.c", "-ldl"], cwd=folder, check=True)
    return folder / "watch.so"


def seen(watcher: Path, folder: Path, program: str, *arguments: str) -> tuple[list[str], set[str]]:
    """What a process asks the network for, and the files in its home afterwards."""
    home, calls = folder / "home", folder / "calls"
    home.mkdir()
    calls.touch()
    environment = {name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")}
    libraries = os.pathsep.join([str(watcher.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
    environment |= {"HOME": str(home), "CALLS": str(calls), "PYTHONPATH": str(ROOT)}
    environment |= {"LD_PRELOAD": watcher.name, "LD_LIBRARY_PATH": libraries}  # a path to preload may hold no blank
    subprocess.run([sys.executable, "-c", program, *arguments], cwd=folder, env=environment, check=True, capture_output=True)
    kept = {path.relative_to(home).parts[:2] for path in home.rglob("*") if path.is_file()}
    return calls.read_text().split(), {"/".join(parts) for parts in kept}


def test_a_process_that_compiles_and_runs_writes_no_identity_and_asks_no_network(watcher: Path, tmp_path: Path) -> None:
    onnx.save(float_model(), tmp_path / "model.onnx")
    commands = "compile model.onnx --config nano --strategy naive -o net.elf;check model.onnx --config nano --strategy naive"
    calls, kept = seen(watcher, tmp_path, COMPILE_AND_RUN, commands)
    assert calls == []
    assert kept == {".cache/tilewright"}


def test_the_watch_sees_what_it_is_to_see(watcher: Path, tmp_path: Path) -> None:
    """Without us, onnxruntime writes its vendor's files (where it has telemetry at all); a socket is noted."""
    onnx.save(float_model(), tmp_path / "model.onnx")
    calls, kept = seen(watcher, tmp_path, f"{RESOLVE}\n{RAW}")
    assert calls == ["socket"]
    assert kept in ({".cache/Microsoft"}, set())


def test_threads_that_wait_sleep() -> None:
    """Spinning ones take a core from whoever else computes."""
    options = onnxruntime.SessionOptions()
    make_session(float_model().SerializeToString(), options)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
