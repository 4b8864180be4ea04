"""How the page of a report looks: in light, in dark and on paper, with nothing fetched from anywhere."""

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1d1f23; --quiet: #5c6370; --rule: #d8d8d4;
  --wash: #f4f4f2; --alarm: #b3261e; --good: #1f7a3a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171b; --ink: #e6e6e3; --quiet: #a2a8b3; --rule: #3a3e46; --wash: #1e2127;
    --alarm: #ff8a80; --good: #7fd694; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p, figcaption { color: var(--quiet); max-width: 62rem; margin: .4rem 0 .8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid var(--rule); text-align: right;
  vertical-align: top; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; min-width: 6em; }
thead th { color: var(--quiet); font-weight: 600; }
.alarm { color: var(--alarm); }
figure { margin: 1.2rem 0; break-inside: avoid; }
figure svg { max-width: 100%; height: auto; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(34rem, 100%), 1fr)); gap: 0 2rem; }
.rows { min-width: calc(23rem + (var(--column) + .5rem) * var(--solvers));
  font-variant-numeric: tabular-nums; }
.rows > * { border-bottom: 1px solid var(--rule); content-visibility: auto;
  contain-intrinsic-block-size: auto 2.8rem; }
.rows > div, .rows summary { display: grid;
  grid-template-columns: minmax(8rem, 2fr) 5.5rem 8rem repeat(var(--solvers), minmax(var(--column), 1fr)); }
.rows > .head { color: var(--quiet); font-weight: 600; }
.rows summary { cursor: pointer; list-style: none; }
.rows summary:hover { background: var(--wash); }
.rows summary i::before { content: "\\25B8\\00A0"; font-style: normal; color: var(--quiet); }
.rows details[open] summary i::before { content: "\\25BE\\00A0"; }
.rows span, .rows i { min-width: 0; padding: .25rem .5rem; text-align: right; overflow-wrap: anywhere; }
.rows i { font-style: normal; text-align: left; }
.rows small { display: block; color: var(--quiet); }
.rows b { color: var(--good); }
.rows .memory { padding: .5rem 0 1rem; }
.memory svg { max-width: 100%; height: auto; background: #ffffff; color: #1a1a1a; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  dl { display: block; }
  dd { margin: 0 0 .4rem; }
}
@page { margin: 14mm; }
@media print {
  :root { --paper: #ffffff; --ink: #000000; --quiet: #444444; --rule: #c8c8c4; --wash: #ffffff;
    --alarm: #8c1d18; --good: #14522a; }
  body { max-width: none; padding: 0; font-size: 9pt; }
  table, .rows { font-size: 6.5pt; }
  .rows { min-width: 0; }
  .rows > div, .rows summary { grid-template-columns: 2fr 6em 8em repeat(var(--solvers), minmax(0, 1fr)); }
  .rows span, .rows i { padding: .2em .5em; }
  th, td { padding: .15rem .3rem; }
  .plots { display: block; }
  h2, h3 { break-after: avoid; }
  .rows > * { break-inside: avoid; content-visibility: visible; }
  .wide { overflow: visible; }
}
"""
