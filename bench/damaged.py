"""Damaged files: ``python -m bench.damaged [--count N] [--seed S] [--minutes M] [kind ...]``.

Kinds are onnx, elf, toml, schedule and npz: small good files, changed at random (bytes, runs of bytes, fields of the format);
and structures: models made at random (``bench.structures``). Each is given to a command that reads its kind, in a process
that is ended after 10 seconds. Wrong is a traceback, a hang, more than one line on stderr, an exit code that is none of 0, 1
and 2, and an output file after anything but 0. Wrong files are kept.
"""

from __future__ import annotations

import io
import math
import random
import resource
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from bench.command import command
from bench.network_table import PROOF, put_row
from bench.structures import crafted
from isa.config import preset
from isa.errors import TilewrightError
from isa.program_file import resealed
from sim.campaign.arguments import add_arguments, how_of
from sim.campaign.run import How, campaign
from sim.campaign.work import Lost
from tilewright.cli import main as tilewright

SECONDS = 10.0
MEMORY = 6 << 30
"""The bytes of address space of a command, so that sizes from a damaged file do not take all memory."""
MUCH = 1 << 20
"""The elements of an input that may take longer than ``SECONDS``. A good file has 108."""
OPERATORS = ("Conv", "Add", "Loop", "If", "", "Konv", "Resize", "MatMul", "LSTM", "Softmax", "Reshape", "QLinearConv")
NANO = ("--config", "nano")
QUICKLY = ("--strategy", "naive", "--scheme", "power_of_two", "--calibration-method", "minmax")
MODEL = ("model.onnx", "--calibrate", "image.npz", *NANO, "--strategy", "naive")
FILES = {
    "onnx": "model.onnx", "structures": "model.onnx", "elf": "model.elf", "toml": "mine.toml", "npz": "image.npz",
    "schedule": "schedule.toml",
}  # fmt: skip
"""The good file of each kind. A damaged one has the same suffix."""
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "onnx": (
        ("compile", "bad.onnx", *NANO, "--strategy", "naive", "-o", "new.elf"),
        ("check", "bad.onnx", *NANO, "--strategy", "naive"),
    ),
    "structures": (("compile", "bad.onnx", *NANO, *QUICKLY, "--seconds", "8", "-o", "new.elf"),),
    "elf": (
        ("run", "bad.elf", "--input", "image.npz", "-o", "new.npz"),
        ("disasm", "bad.elf"),
        ("trace", "bad.elf", "-o", "new.json"),
        ("pack", "bad.elf", "-o", "new.bin"),
    ),
    "toml": (
        ("config", "show", "bad.toml"),
        ("asm", "program.s", "--config", "bad.toml", "-o", "new.elf"),
    ),
    "schedule": (("compile", *MODEL, "--schedule", "bad.toml", "-o", "new.elf"),),
    "npz": (
        ("run", "model.elf", "--input", "bad.npz", "-o", "new.npz"),
        ("compile", "model.onnx", *NANO, "--strategy", "naive", "--calibrate", "bad.npz", "-o", "new.elf"),
    ),
}
"""The commands that read each kind of file. Each file is given to one of them."""


@cache
def good() -> dict[str, bytes]:
    """Small files that every command takes, by name."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(4, 3, 3, 3)), "d": rng.normal(size=(5, 4))}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("MaxPool", ["b"], ["c"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["c"], ["e"], name="mean"),
        helper.make_node("Flatten", ["e"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "d"], ["y"], name="dense", transB=1),
    ]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 6, 6))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 5))],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    image = rng.normal(size=(1, 3, 6, 6)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        onnx.save(model, "model.onnx")
        np.savez("image.npz", x=image)
        Path("mine.toml").write_text(preset("nano").to_toml())
        Path("program.s").write_text("START config=CONFIG\nEND\n")
        with redirect_stdout(io.StringIO()):
            assert tilewright(["compile", *MODEL, "--save-schedule", "schedule.toml", "-o", "model.elf"]) == 0
        return {path.name: path.read_bytes() for path in Path().iterdir()}


def damaged(kind: str, seed: int, files: dict[str, bytes]) -> bytes:
    """The file of that kind with that seed's damage."""
    rng = random.Random(f"{kind} {seed}")
    if kind == "structures":
        return crafted(rng)
    whole = files[FILES[kind]]
    inside: dict[str, Callable[[random.Random, bytes], bytes]] = {
        "onnx": _model, "npz": _arrays, "toml": _lines, "schedule": _lines, "elf": _words,
    }  # fmt: skip
    result = inside[kind](rng, whole) if rng.random() < 0.6 else whole
    while result == whole or rng.random() < 0.2:
        result = _bytes(rng, result)
    return result


def _bytes(rng: random.Random, data: bytes) -> bytes:
    """Changes, loses or doubles bits, bytes and runs of them, or loses the rest."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(result) + 1)
        length = rng.choice((1, 1, 2, 4, 8, 100))
        match rng.randrange(6):
            case 0 if at < len(result):
                result[at] ^= 1 << rng.randrange(8)
            case 1:
                result[at : at + length] = rng.randbytes(min(length, len(result) - at))
            case 2:
                del result[at : at + length]
            case 3:
                result[at:at] = rng.randbytes(length)
            case 4:
                result[at:at] = result[at : at + length]
            case _ if rng.random() < 0.2:
                del result[at:]
            case _:
                result[at : at + length] = bytes([rng.choice((0, 0xFF, 0x7F, 0x80))]) * min(length, len(result) - at)
    return bytes(result)


def _number(rng: random.Random) -> int:
    return rng.choice((0, -1, 1, 2, 7, 255, 1 << 15, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63), rng.randint(-1000, 1000)))


def _words(rng: random.Random, data: bytes) -> bytes:
    """Changes aligned words of the file, where sizes, offsets and instructions are. The file often gets the right checksum
    again."""
    changed = _some_words(rng, data)
    if rng.random() < 0.8:
        with suppress(TilewrightError):  # damage that leaves nothing to seal
            return resealed(changed)
    return changed


def _some_words(rng: random.Random, data: bytes) -> bytes:
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        size = rng.choice((2, 4, 8))
        at = rng.randrange(len(result) // size if rng.random() < 0.7 else 16) * size
        result[at : at + size] = (_number(rng) % (1 << (8 * size))).to_bytes(size, "little")
    return bytes(result)


def _lines(rng: random.Random, data: bytes) -> bytes:
    """Puts values of other types and ranges; loses lines, doubles them, or renames them."""
    lines = data.decode().splitlines()
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(lines))
        name = lines[at].partition(" = ")[0]
        values = (str(_number(rng)), "'text'", "true", "[]", "1.5", "nan", "{}", "", "1979-05-27", "'aaa'", "0x10")
        change = rng.randrange(5)
        if change < 2:
            lines[at] = f"{name} = {rng.choice(values)}"
        elif change == 2:
            del lines[at]
        elif change == 3:
            lines.insert(at, rng.choice(lines))
        else:
            lines[at] = rng.choice((f"[{name}]", f"{name}x = 3", f"{name}", "\x00", 'base = "nano"', f"{name} = {name}"))
        if not lines:
            break
    return "\n".join(lines).encode()


def _arrays(rng: random.Random, data: bytes) -> bytes:
    """Makes arrays of other shapes, types and names, members that are none, and headers that are wrong."""
    (array,) = np.load(io.BytesIO(data)).values()
    value: NDArray[Any] = array
    match rng.randrange(5):
        case 0:
            value = np.resize(array, [rng.choice((0, 1, 2, 3, 6)) for _ in range(rng.randint(0, 6))])
        case 1:
            with np.errstate(all="ignore"):
                value = array.astype(rng.choice(("int8", "uint8", "float64", "complex64", "bool", "S3", "U2", "float16")))
        case 2:
            value = array.copy()
            value.flat[rng.randrange(value.size)] = rng.choice((np.nan, np.inf, -np.inf, 3e38))
    name = rng.choice(("x", "x", "x", "", "y", "x/../y", "x" * 200, "x\n"))
    member = io.BytesIO()
    np.lib.format.write_array(member, value, allow_pickle=False)
    content = member.getvalue()
    if rng.random() < 0.5:
        content = _bytes(rng, content[:128]) + content[128:] if rng.random() < 0.7 else _bytes(rng, content)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{name}{rng.choice(('.npy', '.npy', '.npy', '', '.txt'))}"), content)
    return out.getvalue()


def _model(rng: random.Random, data: bytes) -> bytes:
    """Changes fields of the model: nodes, attributes, tensors, shapes, types, names."""
    model = onnx.load_model_from_string(data)
    graph = model.graph
    for _ in range(rng.choice((1, 1, 2, 4))):
        node = rng.choice(graph.node) if graph.node else None
        tensor = rng.choice(graph.initializer) if graph.initializer else None
        value = rng.choice([*graph.input, *graph.output]) if graph.input or graph.output else None
        names = [name for each in graph.node for name in (*each.input, *each.output)] or ["x"]
        match rng.randrange(14):
            case 0 if node is not None:
                node.op_type = rng.choice(OPERATORS)
            case 1 if node is not None and node.input:
                node.input[rng.randrange(len(node.input))] = rng.choice((*names, "", "nowhere"))
            case 2 if node is not None and node.output:
                node.output[rng.randrange(len(node.output))] = rng.choice((*names, "", "nowhere"))
            case 3 if node is not None:
                graph.node.remove(node)
            case 4 if node is not None:
                graph.node.append(node)
            case 5 if node is not None and node.attribute:
                attribute = rng.choice(node.attribute)
                if attribute.ints:
                    attribute.ints[rng.randrange(len(attribute.ints))] = _number(rng)
                else:
                    attribute.i = _number(rng)
            case 6 if node is not None:
                name = rng.choice(("kernel_shape", "strides", "pads", "group", "axis", "auto_pad", "alpha", "dilations"))
                kept = [each for each in node.attribute if each.name != name]
                del node.attribute[:]
                changed = helper.make_attribute(name, rng.choice(([_number(rng)], 1.5, "text", _number(rng))))
                node.attribute.extend([*kept, changed])
            case 7 if tensor is not None and tensor.dims:
                tensor.dims[rng.randrange(len(tensor.dims))] = _number(rng)
            case 8 if tensor is not None:
                tensor.data_type = rng.randrange(28)
            case 9 if tensor is not None:
                tensor.raw_data = _bytes(rng, tensor.raw_data) if tensor.raw_data else b"abc"
            case 10 if value is not None and value.type.tensor_type.shape.dim:
                dim = rng.choice(value.type.tensor_type.shape.dim)
                if rng.random() < 0.3:
                    dim.dim_param = "n"
                else:
                    dim.dim_value = _number(rng)
            case 11 if value is not None:
                value.type.tensor_type.elem_type = rng.randrange(28)
            case 12 if value is not None:
                value.name = rng.choice((*names, "", "nowhere"))
            case 13:
                model.opset_import[0].version = rng.choice((0, 1, 8, 9, 27, 99, 1 << 40))
    return bytes(model.SerializeToString())


def tried(item: tuple[str, int, dict[str, bytes]]) -> dict[str, str]:
    """The answer of the command (``code``), and what was wrong with that."""
    kind, seed, whole = item
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    command = random.Random(seed).choice(COMMANDS[kind])
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder, chdir(folder):
        for name, content in whole.items():
            Path(name).write_bytes(content)
        Path("bad").with_suffix(Path(FILES[kind]).suffix).write_bytes(damaged(kind, seed, whole))
        before = {path.name for path in Path().rglob("*")}
        try:
            with redirect_stdout(out), redirect_stderr(err):
                code = tilewright(command)
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = str(error).partition("\n")[0][:200]
            return {"code": "", "wrong": f"{type(error).__name__}: {text} ({Path(place.filename).name}:{place.lineno})"}
        made = {path.name for path in Path().rglob("*")} - before
    return {"code": str(code), "wrong": _wrong(code, err.getvalue(), made)}


def _wrong(code: int, err: str, made: set[str]) -> str:
    lines = [line for line in err.splitlines() if ": warning: " not in line]
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if code == 2 and (len(lines) != 1 or not lines[0].startswith("tilewright")):
        return f"not one line: {err[:200]!r}"
    if code == 2 and (made or "Traceback" in err):
        return f"left {sorted(made)}" if made else f"a traceback: {err[:200]!r}"
    return f"{len(lines)} lines on stderr after success: {err[:200]!r}" if code != 2 and lines else ""


def _is_much_work(content: bytes) -> bool:
    """Whether a model asks for so many elements that a long run is no hang: a batch of 32 768, for example."""
    shapes = ([dim.dim_value for dim in info.type.tensor_type.shape.dim] for info in onnx.load_from_string(content).graph.input)
    return any(math.prod(shape) >= MUCH for shape in shapes)


def run_damaged(
    kind: str, seed: int, count: int, how: How, directory: Path, report: Callable[[str], None] = print, *,
    seconds: float = SECONDS, minutes: float = math.inf,
) -> tuple[Counter[str], list[str]]:  # fmt: skip
    """Gives damaged files to commands; returns how often each exit code came, and a line for each file with which something was
    wrong. No more begins after ``minutes``."""
    since = time.monotonic()
    codes: Counter[str] = Counter()
    failures = []
    content = good()
    items = [(kind, number, content) for number in range(seed, seed + count)]
    with campaign(tried, items, how, {"damaged": kind, "seed": seed}, seconds=seconds) as results:
        for (_, number, _), found in zip(items, results, strict=True):
            wrong = found.reason if isinstance(found, Lost) else found["wrong"]
            late = isinstance(found, Lost) and found.late
            if late and kind == "onnx" and _is_much_work(damaged(kind, number, content)):
                wrong, found = "", {"code": "0"}
            codes["lost" if isinstance(found, Lost) else found["code"]] += 1
            if wrong:
                directory.mkdir(parents=True, exist_ok=True)
                path = directory / f"{kind}-{number}{Path(FILES[kind]).suffix}"
                path.write_bytes(damaged(kind, number, content))
                failures.append(f"{path}: {' '.join(random.Random(number).choice(COMMANDS[kind]))}: {wrong}")
                report(failures[-1])
            if time.monotonic() - since > 60 * minutes:
                break
    return codes, failures


TITLE = "Damaged files"
COLUMNS = ("kind", "files", "refused in one line", "taken", "wrong")


def main(arguments: list[str]) -> int:
    parser = command("damaged", __doc__)
    parser.add_argument("kinds", nargs="*", choices=[*COMMANDS, []])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("-o", "--output", type=Path, default=Path("damaged-failures"))
    parser.add_argument("--minutes", type=float, default=math.inf, help="for each kind, after which no more files are tried")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that a command may take; more on a busy machine")
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    wrong = 0
    how = how_of(chosen)
    for kind in chosen.kinds or COMMANDS:
        # Each kind is a campaign of its own, and a record holds one campaign.
        of_kind = replace(how, record=how.record and how.record.with_stem(f"{how.record.stem}-{kind}"))
        codes, failures = run_damaged(
            kind, chosen.seed, chosen.count, of_kind, chosen.output, seconds=chosen.seconds, minutes=chosen.minutes
        )  # fmt: skip
        wrong += len(failures)
        row = [kind, str(codes.total()), str(codes["2"]), str(codes["0"] + codes["1"]), str(len(failures))]
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 1, PROOF)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
