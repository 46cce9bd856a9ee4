"""How long a compilation takes, cold, and what it makes: the table *Seconds of compilation* in docs/results/compilation.md.

    python -m bench.compile_times NETWORK ... [--config base] [--beside DIR] [--repeat 1] [--effort normal]

Each compilation, of a file, runs in a process of its own, with the default strategy and without the costs that earlier ones
keep.
``--beside``: another checkout of this project; the same networks are compiled there in turn, by the same interpreter and
packages. Seconds are those of the processor, which other programs disturb less than those of the clock: of the compiler's own
process, and *helper* those of the one that shares its work; *clock s* are those of the clock. Of ``--repeat`` compilations the
one with the fewest seconds of its own counts. Columns that do not exist in the other checkout are left out.
What the other takes for ResNet-50 on ``base`` is measured with each row, for seconds differ from minute to minute.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

from bench.checkout import ROOT, revision, run_in
from bench.command import command
from bench.figures import number
from bench.network_table import COMPILATION as PAGE
from bench.network_table import put_row, put_text, rows_of
from compiler.zoo.networks import networks
from isa.config import preset

TITLE = "Seconds of compilation"
COLUMNS = (
    "configuration", "network", "start", "import", "calibration", "search", "timing", "emission", "s", "helper",
    "clock s", "asked s", "peak MB", "cycles", "beside: s", "beside: clock s", "beside: cycles", "beside: revision",
    "clock s beside / clock s", "beside: resnet50_v1 clock s",
)  # fmt: skip
ASKED = {"resnet50_v1": "4", "googlenet": "4", "mobilenet_v2": "2", "resnet152_v1": "10", "nasnet_a_large": "20"}
"""The seconds of the clock that are asked for, on a machine where the first edition takes 11 for ResNet-50."""
FIRST, REFERENCE, REFERENCE_SECONDS = "e05b859", "resnet50_v1", 11
"""The revision of the first edition, and the network and its seconds on that machine."""
STAGES = {
    "import": "import", "read": "calibration", "calibrated": "calibration", "quantised": "import", "imported": "import",
    "search: program": "timing", "search: order": "timing", "search": "search", "emit": "emission", "pack": "emission",
}  # fmt: skip
"""The stage that follows a report with this beginning. Longer beginnings come before shorter ones."""
PROBE = """
import inspect, json, re, resource, sys, time, warnings
warnings.simplefilter("ignore")
from tilewright.compiling import compile_model
from tilewright.running import estimated_cycles
model, config, effort = sys.argv[1:]
begun = time.process_time()
marks = []
before, since = time.process_time(), time.perf_counter()
more = {"effort": effort} if "effort" in inspect.signature(compile_model).parameters else {}
made = compile_model(model, config, cache=False, progress=lambda text: marks.append((text, time.process_time())), **more)
after, clock = time.process_time(), time.perf_counter() - since
peak = int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) >> 10
helped = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"begun": begun, "before": before, "marks": marks, "after": after, "clock": clock, "peak": peak,
                  "helper": helped.ru_utime + helped.ru_stime,
                  "cycles": estimated_cycles(made.program)}))
"""
"""The script that measures. It asks only for what both checkouts have. ``ru_maxrss`` would count what its starter holds,
too."""


def stage_of(report: str) -> str:
    """The stage of the compiler after this report."""
    return next((stage for start, stage in STAGES.items() if report.startswith(start)), "search")


def stages(found: Mapping[str, Any]) -> dict[str, float]:
    """The seconds by stage, and in all."""
    seconds = {"start": found["begun"], **dict.fromkeys(STAGES.values(), 0.0)}
    marks = [("import", found["before"]), *found["marks"], ("", found["after"])]
    for (report, since), (_, until) in pairwise(marks):
        seconds[stage_of(report)] += until - since
    return seconds | {"s": sum(seconds.values())}


def compiled(checkout: Path, model: Path, config: str, effort: str) -> dict[str, Any]:
    """The figures of one compilation by a checkout."""
    printed, _ = run_in(checkout, ["-c", PROBE, str(model), config, effort], f"compiling {model.stem}")
    measured: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return measured | stages(measured)


def measure(name: str, config: str, effort: str, beside: Path | None, repeat: int) -> list[str]:
    """A row of the table."""
    ours, theirs, references = [], [], []
    with TemporaryDirectory() as folder:
        model, reference = (Path(folder) / f"{each}.onnx" for each in (name, REFERENCE))
        for path in {model, reference}:
            onnx.save(networks()[path.stem](), path)
        for _ in range(repeat):
            ours.append(compiled(ROOT, model, config, effort))
            if beside is not None:
                theirs.append(compiled(beside, model, config, effort))
                same = (name, config) == (REFERENCE, "base")
                references.append(theirs[-1] if same else compiled(beside, reference, "base", effort))
    own = min(ours, key=lambda found: found["s"])
    cells = [f"{own[stage]:.2f}" for stage in COLUMNS[2:9]]
    clock = f"{own['helper']:.2f}", f"{own['clock']:.1f}", ASKED.get(name, "")
    row = [config, name, *cells, *clock, str(own["peak"]), f"{own['cycles']:,}"]
    if beside is None:
        return [*row, *["-"] * 6]
    other = min(theirs, key=lambda found: found["s"])
    shown = f"{other['s']:.2f}", f"{other['clock']:.1f}", f"{other['cycles']:,}"
    least = min(found["clock"] for found in references)
    return [*row, *shown, revision(beside), f"{other['clock'] / own['clock']:.2f}", f"{least:.1f}"]


def told() -> str:
    """The sentences about the table for the machine that the asked seconds are meant for, where the first edition takes that
    long."""
    rows = [row for row in rows_of(TITLE, PAGE) if row["beside: revision"] == FIRST]
    if not rows:
        return "No row beside the first edition: what is asked cannot be told on this machine."
    lines = [f"Seconds of the clock where the first edition takes {REFERENCE_SECONDS} for ResNet-50:", ""]
    for row in rows:
        asked = f", asked {row['asked s']}" if row["asked s"] else ""
        seconds = REFERENCE_SECONDS / number(row["beside: resnet50_v1 clock s"]) * number(row["clock s"])
        name, config, ratio = row["network"], row["configuration"], row["clock s beside / clock s"]
        lines.append(f"- {name} on `{config}`: {seconds:.1f}{asked}; {ratio} times as fast as the first edition.")
    peak = max(int(row["peak MB"]) for row in rows)
    return "\n".join([*lines, "", f"The most memory is {peak} MB."])


def main() -> None:
    parser = command("compile_times", __doc__)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--config", default="base")
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--effort", default="normal")
    arguments = parser.parse_intermixed_args()
    preset(arguments.config)
    print(" | ".join(COLUMNS))
    for name in arguments.networks:
        row = measure(name, arguments.config, arguments.effort, arguments.beside, arguments.repeat)
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 2, PAGE)
        put_text(TITLE, told(), PAGE)


if __name__ == "__main__":
    main()
