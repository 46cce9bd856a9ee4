"""The report in a browser, narrow and wide, light and dark: no text is cut off, and none lies on another."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.tilewright.small_models import alternating_model, float_model, hosted_program, images, judged_program
from tests.tools import needs, path_of
from tilewright.compiling import compile_model
from tilewright.processors import PROCESSORS
from tilewright.profile.activity import modelled
from tilewright.profile.whole import whole_time
from tilewright.report.compared import Run, compared
from tilewright.report.page import page

LOOK = """<script>
const found = [];
const name = e => e.textContent.trim().slice(0, 40);
const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the window');
for (const svg of document.querySelectorAll('svg')) {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(e => [name(e), e.getBoundingClientRect()]);
  texts.forEach(([text, r], n) => {
    if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1)
      found.push(svg.getAttribute('aria-label') + ': ' + text + ' is cut off');
    for (const [other, o] of texts.slice(n + 1)) if (meet(r, o))
      found.push(svg.getAttribute('aria-label') + ': ' + text + ' lies on ' + other);
  });
}
for (const e of document.querySelectorAll('h1, h2, p, li, .facts b, .facts span, .box, .tight, td, th'))
  if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline') found.push(name(e) + ' does not fit');
const told = document.createElement('pre');
told.id = 'found';
told.textContent = JSON.stringify(found);
document.body.append(told);
</script></body>"""


WRONG = (
    '<body><svg width="200" height="60" aria-label="x"><text x="9" y="20">first</text><text x="15" y="20">second</text>'
    '<text x="190" y="50">third</text></svg></body>'
)
"""A page of which both must be told."""


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
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},2300", "--host-resolver-rules=MAP * ~NOTFOUND",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]  # fmt: skip
    found = {}
    for name, text in {**pages, "wrong": WRONG}.items():
        path = tmp_path / f"{name}.html"
        path.write_text(text.replace("</body>", LOOK))
        call = [str(path_of("chromium")), *options, path.as_uri()]
        shown = subprocess.run(call, capture_output=True, text=True, timeout=120, check=True).stdout
        told = re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)
        assert told is not None, name
        found[name] = json.loads(html.unescape(told[1]))
    assert found.pop("wrong") == ["x: first lies on second", "x: third is cut off"]
    assert [name for name, told in found.items() if told] == [], found
