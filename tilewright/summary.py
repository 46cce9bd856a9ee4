"""The summary of a compilation: the machine's part, the host's part, why there is one, and the whole time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from compiler.driver import Compiled
from compiler.frontend.pipeline import FOR_ACCURACY
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Conv, ConvTranspose, Cpu
from tilewright.causes import Cause, causes, ms_of_nodes
from tilewright.processors import Processor, processor_of
from tilewright.profile.activity import modelled
from tilewright.profile.network import macs_of_nodes
from tilewright.profile.whole import WholeTime, whole_time
from tilewright.run_table import layer_table

LEFT_OUT = "groups_left_out_by_caps"


@dataclass(frozen=True)
class Summary:
    """The summary. It prints as a table; ``as_dict`` is what ``--json`` prints. Times are estimates."""

    configuration: str
    """The name of the configuration."""
    configuration_hash: int
    """The hash of the configuration. The program runs only on a machine with this hash."""
    array: str
    """The array: input channels x output channels x pixels."""
    macs_per_cycle: int
    """The peak of the array."""
    chip: str
    """The chip that the configuration names; empty: none."""
    clock_mhz: int
    """The clock that is assumed: no board has been measured."""
    operations_on_machine: int
    groups: int
    """The number of sets of operations that run together, tile by tile."""
    groups_left_out_by_caps: str
    """The groups that were found and not weighed; empty: none."""
    machine_segments: int
    """The number of stretches of the run that the machine computes without the host. Between them cores that share an image
    wait for each other."""
    nodes_on_cpu: int
    kept_in_float: str
    """The nodes that accuracy keeps on the CPU; empty: none."""
    operations_with_inexact_cases: int
    """The number of operations that cannot follow onnxruntime's kernel in all cases."""
    macs: int
    """The multiply-accumulates of convolutions, dense layers, products of two activations, recurrent layers, wherever they
    run."""
    macs_on_machine: int
    macs_on_cpu: int
    instructions: int
    instruction_bytes: int
    parameter_bytes: int
    """The bytes of weights and what goes with them, as they are loaded."""
    four_bit_weights: str
    """How many of the layers have weights of four bits; empty: none."""
    dram_bytes: int
    """The bytes of DRAM that one run moves."""
    dram_for_feature_maps: int
    """The bytes of DRAM that feature maps take, inputs and outputs included."""
    inputs_and_outputs: str
    """The place of inputs and outputs, if a memory limit put them in WORK; empty: in regions of their own."""
    on_chip_words_used: int
    cycles: int
    """The cycles of the machine, by the cycle model. For cores that share an image, those of the slowest in each segment."""
    utilisation: float
    """The MACs on the machine over the cycles times the peak of the arrays of all cores that share an image."""
    processor: str
    """The processor of the nodes on the CPU, and how sure its times are."""
    ms_on_machine: float
    """The milliseconds of the machine's cycles at the assumed clock."""
    ms_on_cpu: float | None
    """The milliseconds on the CPU. None: the processor cannot run all parts."""
    ms_of_transfers: float | None
    ms: float | None
    """The milliseconds end to end: machine, CPU and transfers, one after the other."""
    inferences_per_second: float | None
    no_time: str
    """The reason why there is no time end to end; empty: there is one."""
    accuracy: str
    """The accuracy by ``--validate`` with labels; empty: not asked for."""
    seconds: Mapping[str, float]
    """The seconds of the compilation, by stage."""
    time: WholeTime = dataclasses.field(repr=False)
    causes: tuple[Cause, ...] = dataclasses.field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The summary for JSON: all fields, ``spans`` in the order of the run, and ``causes``, which keep nodes on the CPU."""
        fields = (each.name for each in dataclasses.fields(self) if each.name not in ("time", "causes"))
        plain = {name: getattr(self, name) for name in fields}
        return {
            **plain, "seconds": dict(self.seconds), "spans": self.time.rows(),
            "causes": [cause_row(cause) for cause in self.causes],
        }  # fmt: skip

    def rows(self) -> list[tuple[str, str]]:
        """The labels and values as they are printed."""
        found = [
            (label(each.name), _text(each.name, value))
            for each in dataclasses.fields(self)
            if each.name not in ("time", "causes", "configuration_hash", "ms", "inferences_per_second", "no_time")
            and (value := getattr(self, each.name)) not in ("", None)
        ]
        return [*found, ("end to end", self.time.told)]

    def __str__(self) -> str:
        return "\n".join([*(f"{name:24} {value}" for name, value in self.rows()), *(f"on the CPU: {c}" for c in self.causes)])


def label(key: str) -> str:
    """The label of a key: ``macs_on_cpu`` becomes ``MACs on CPU``."""
    words = {"macs": "MACs", "dram": "DRAM", "cpu": "CPU", "mhz": "MHz"}
    return " ".join(words.get(word, word) for word in key.split("_"))


def _text(key: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {seconds:.2f}" for name, seconds in value.items())
    if key == "clock_mhz":
        return f"{value}, not measured"
    if key == "cycles":
        return f"{value:,} by the cycle model"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def summary(compiled: Compiled, processor: Processor | None = None, accuracy: str = "") -> Summary:
    """The summary of a compilation. ``processor``: that of the configuration's chip, unless another is given."""
    program, plans = compiled.program, compiled.plans
    config, processor = program.config, processor or processor_of(None, program.config)
    time = whole_time(program, modelled(program).steps, processor)
    macs = array_macs(compiled)
    on_cpu = sum(macs_of_nodes(program).get(name, 0) for name in compiled.imported.reasons)
    left, peak = compiled.left_out, time.cycles * config.macs_per_cycle * program.cores
    return Summary(
        configuration=config.name, configuration_hash=config.hash, array=f"{config.ic_p} x {config.oc_p} x {config.px_p}",
        macs_per_cycle=config.macs_per_cycle, chip=config.chip,
        operations_on_machine=sum(len(plan.group.layers) for plan in plans), groups=len(plans),
        groups_left_out_by_caps=str(left) if left else "",
        machine_segments=sum(isinstance(phase, tuple) for phase in program.phases),
        nodes_on_cpu=sum(len(step.reasons) for step in compiled.steps if isinstance(step, Cpu)),
        kept_in_float=kept_in_float(compiled, processor), operations_with_inexact_cases=len(compiled.imported.inexact),
        macs=macs + on_cpu, macs_on_machine=macs, macs_on_cpu=on_cpu, instructions=len(program.debug),
        instruction_bytes=4 * len(program.words), parameter_bytes=len(program.const),
        four_bit_weights=_four_bits(compiled),
        dram_bytes=sum(plan.cost.dram_bytes for plan in plans),
        dram_for_feature_maps=program.work_bytes + program.input_bytes + program.output_bytes,
        inputs_and_outputs="in WORK: a run destroys its input" if compiled.sharing.host else "",
        on_chip_words_used=min(max((plan.words for plan in plans), default=0), config.fm_words),
        utilisation=round(macs / peak, 4) if peak else 0.0, **time.figures(), accuracy=accuracy,
        seconds={name: round(value, 3) for name, value in compiled.seconds.items()},
        time=time, causes=tuple(causes(compiled, processor)),
    )  # fmt: skip


def _four_bits(compiled: Compiled) -> str:
    ops = [layer.op for plan in compiled.plans for layer in plan.group.layers]
    narrow = [op.int4 for op in ops if isinstance(op, Conv | ConvTranspose | LongConv)]
    return f"{sum(narrow)} of {len(narrow)} layers" if any(narrow) else ""


def array_macs(compiled: Compiled) -> int:
    """The products of the model on the machine: all but the CPU's."""
    macs = macs_of_nodes(compiled.program)
    return sum(macs.values()) - sum(macs.get(name, 0) for name in compiled.imported.reasons)


def kept_in_float(compiled: Compiled, processor: Processor) -> str:
    """The nodes that accuracy keeps on the CPU, and their time there; empty if there are none."""
    names = [name for name, reason in compiled.imported.reasons.items() if reason == FOR_ACCURACY]
    if not names:
        return ""
    ms = ms_of_nodes(compiled.program, names, processor)
    return f"{', '.join(names)}: " + ("no processor to run them" if ms is None else f"about {ms:.3f} ms on the CPU")


def cause_row(cause: Cause) -> dict[str, Any]:
    """One cause for JSON."""
    return {**asdict(cause), "why": cause.why.so, "remedy": cause.why.remedy}


def details(compiled: Compiled, time: WholeTime) -> dict[str, Any]:
    """The additions of ``--verbose``, for scripts: ``plans`` with the search's estimates, ``layers`` with the cycle model's
    cycles."""
    return {
        "plans": [
            {"group": plan.group.name, "passes": plan.over_channels, "tiles": plan.count // plan.over_channels,
             "steps": plan.steps, "search_cycles": plan.cost.cycles,
             "dram_bytes": plan.cost.dram_bytes, "operations": [layer.op.name for layer in plan.group.layers]}
            for plan in compiled.plans
        ],
        "left_out_by_caps": asdict(compiled.left_out),
        "inexact": [{"operation": name, "cases": cases} for name, cases in compiled.imported.inexact.items()],
        "layers": layer_table(compiled, time),
    }  # fmt: skip
