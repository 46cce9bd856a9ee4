"""The style sheet of the report, which loads nothing."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --page: #f5f7f9; --card: #fff;
  --work: #2f9e6e; --wait: #e2b14c; --inside: #d46a5f; --issue: #9aa5b3; --link: #1f6fb2; --meter: #dce9f5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --soft: #97a3b2; --line: #313a46; --page: #14181d;
  --card: #1d232a; --link: #74b5ea; --meter: #2a3d50; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 2px; } h2 { font-size: 18px; margin: 0 0 10px; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
.soft, .note { color: var(--soft); } .note { font-size: 13px; margin: 8px 0 0; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; margin-top: 18px; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px; margin-top: 18px; }
.facts div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px; }
.facts b { display: block; font-size: 21px; font-variant-numeric: tabular-nums; }
.facts span { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { padding: 4px 7px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child, .left { text-align: left; }
tbody tr:hover { background: color-mix(in srgb, var(--link) 8%, transparent); }
tfoot td { font-weight: 600; border-bottom: 0; border-top: 2px solid var(--line); }
.bar { display: flex; width: 150px; height: 12px; border-radius: 3px; overflow: hidden; background: var(--line); }
.bar.wide { width: clamp(44px, 40vw - 160px, 320px); } .bar i { display: block; height: 100%; }
ol { margin: 0; padding-left: 22px; } li { margin-bottom: 6px; }
.legend { font-size: 12px; color: var(--soft); margin: 8px 0 0; }
.legend span { display: inline-block; margin-right: 14px; } .legend i { display: inline-block; width: 10px; height: 10px;
  border-radius: 2px; margin-right: 5px; }
.flow { display: flex; flex-wrap: wrap; gap: 8px; align-items: stretch; }
.box { border: 1px solid var(--line); border-left: 5px solid var(--soft); border-radius: 7px; padding: 6px 10px;
  font-size: 12px; max-width: 100%; } .box b { display: block; font-size: 13px; } .box.cpu { border-style: dashed; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 12px; }
@media (max-width: 640px) { svg text { font-size: 15px; } .graph svg text { font-size: 12px; } }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; } svg .strong { fill: var(--ink); font-weight: 600; }
svg .grid { stroke: var(--line); } svg .plot { fill: color-mix(in srgb, var(--line) 45%, transparent); }
svg .roof { fill: none; stroke: var(--ink); stroke-width: 2; } svg .dot { fill-opacity: .8; stroke: var(--card); }
.graph { max-height: 640px; overflow: auto; border: 1px solid var(--line); border-radius: 8px; padding: 8px;
  margin-bottom: 12px; }
.graph svg a:hover { text-decoration: none; } svg .op { fill: var(--card); stroke: var(--soft); }
svg a:hover .op { stroke: var(--link); stroke-width: 2; } svg a .middle { fill: var(--ink); font-size: 11px; }
svg .edge { fill: none; stroke: var(--soft); stroke-width: 1.2; } svg .stays { stroke: var(--work); stroke-width: 2.6; }
svg .whole { fill: none; stroke: #d43f3a; stroke-width: 3; }
details { border-top: 1px solid var(--line); padding: 5px 0; } summary { cursor: pointer; }
code, pre { font: 12px/1.5 ui-monospace, Consolas, monospace; } pre { overflow-x: auto; margin: 6px 0; }
"""
