"""The report in a browser, narrow and wide, light and dark: no text is cut off, and none lies on another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tilewright.looked_at import faults
from tests.tilewright.small_models import alternating_model, float_model, hosted_program, images, judged_program
from tests.tools import needs
from tilewright.compiling import compile_model
from tilewright.processors import PROCESSORS
from tilewright.profile.activity import modelled
from tilewright.profile.whole import whole_time
from tilewright.report.compared import Run, compared
from tilewright.report.page import page


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Of one program, whose Softmax no processor beside ``nano`` can run; of two; with accuracy, many parts, no machine."""
    runs = []
    for strategy in ("naive", "best"):
        program = compile_model(float_model(), "nano", calibration={"image": images(8)}, strategy=strategy).program
        timing = modelled(program)
        runs.append(Run(f"{strategy}.elf", program, timing, whole_time(program, timing.steps, PROCESSORS["cortex-a53"])))
    made = {
        "a network with a name that is rather long": judged_program("nano"),
        "apart": compile_model(alternating_model(), "base", calibration={"image": images(8)}, cache=False).program,
        "nothing": hosted_program(),
    }
    timed = {name: (program, modelled(program)) for name, program in made.items()}
    first = runs[0]
    stuck = whole_time(first.program, first.timing.steps, PROCESSORS["vexriscv"])
    return {
        "stuck": page(first.program, first.timing, stuck, "small"),
        "two": compared(*runs),
        **{name: page(p, t, whole_time(p, t.steps, PROCESSORS["cortex-a53"]), name) for name, (p, t) in timed.items()},
    }


@pytest.mark.slow
@needs("chromium")
@pytest.mark.parametrize(("width", "dark"), [(520, False), (1400, True)], ids=["narrow and light", "wide and dark"])
def test_nothing_is_cut_off_or_covered(width: int, dark: bool, pages: dict[str, str], tmp_path: Path) -> None:
    told = faults(pages, width, dark, tmp_path)
    assert [name for name, found in told.items() if found] == [], told
