"""How reports look: as the console does, on screen and on paper, by day and by night."""

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f7f8, #0f1315); --surface: light-dark(#fff, #161b1e); --line: light-dark(#e0e4e8, #2a3237);
  --text: light-dark(#15191d, #e8ecee); --muted: light-dark(#56616b, #9aa6ae); --accent: light-dark(#0b6b63, #4fd1bd);
  --good: light-dark(#1a6e37, #63d488); --good-ground: light-dark(#e5f5ea, #14301e);
  --bad: light-dark(#b3261e, #ff8d83); --bad-ground: light-dark(#fdeceb, #3a1917);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 14px/1.5 Inter, system-ui, sans-serif; }
header, main { max-width: 72rem; margin: 0 auto; padding: 0 24px; }
header { padding-top: 40px; padding-bottom: 24px; }
header::before { content: ""; display: block; width: 40px; height: 4px; margin-bottom: 16px; border-radius: 2px;
  background: var(--accent); }
h1 { margin: 0; font-size: 28px; line-height: 36px; letter-spacing: -.02em; font-weight: 650; overflow-wrap: anywhere; }
header p { margin: 8px 0 0; max-width: 52rem; color: var(--muted); font-size: 16px; }
section { margin: 0 0 16px; padding: 16px 20px 20px; background: var(--surface); border: 1px solid var(--line);
  border-radius: 10px; break-inside: avoid; }
main { padding-bottom: 48px; }
h2 { margin: 0 0 12px; font-size: 15px; font-weight: 600; }
p { margin: 12px 0 0; color: var(--muted); }
ul { margin: 0; padding-left: 18px; }
a { color: var(--accent); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: 7px 16px 7px 0; text-align: left; vertical-align: top; }
tr:last-child > * { border-bottom: 0; }
th { color: var(--muted); font-weight: 500; }
.facts th { width: 1%; min-width: 14rem; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.good, .bad { padding: 1px 8px; border-radius: 9px; font-size: 12px; font-weight: 500; white-space: nowrap; }
.good { color: var(--good); background: var(--good-ground); }
.bad { color: var(--bad); background: var(--bad-ground); }
section.tiles { padding: 0; overflow: hidden; }
.tiles dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1px; margin: 0;
  background: var(--line); }
.tiles div div { padding: 14px 20px 16px; background: var(--surface); }
dt { color: var(--muted); font-size: 13px; }
dd { margin: 2px 0 0; font-size: 24px; line-height: 32px; font-weight: 600; letter-spacing: -.015em;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 16px 0 0; color: var(--muted); }
figcaption { margin-bottom: 4px; font-size: 13px; }
figure svg { display: block; max-width: 100%; height: auto; }
figure svg text { font-family: Inter, system-ui, sans-serif !important; fill: currentColor; }
@media (min-width: 60rem) {
  section.pair { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); column-gap: 32px; }
  section.pair > h2 { grid-column: 1 / -1; }
  section.pair > p { grid-column: 1 / -1; }
  section.pair > figure { margin: 0; }
}
@media print { body { background: none; } section { border-color: #ccc; } }
"""
