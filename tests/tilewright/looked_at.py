"""A page in a browser: whether a text is cut off, or lies on another."""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.tools import path_of

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


def faults(pages: Mapping[str, str], width: int, dark: bool, folder: Path) -> dict[str, list[str]]:
    """What is wrong with each page, by its name; that faults are found at all is seen to first."""
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},2300", "--host-resolver-rules=MAP * ~NOTFOUND",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]  # fmt: skip
    found = {}
    for name, text in {**pages, "wrong": WRONG}.items():
        path = folder / f"{name}.html"
        path.write_text(text.replace("</body>", LOOK))
        call = [str(path_of("chromium")), *options, path.as_uri()]
        shown = subprocess.run(call, capture_output=True, text=True, timeout=120, check=True).stdout
        told = re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)
        assert told is not None, name
        found[name] = json.loads(html.unescape(told[1]))
    assert found.pop("wrong") == ["x: first lies on second", "x: third is cut off"]
    return found
