// Charts and tables that stay up to date: one stream of server-sent events for a page.
"use strict";

(() => {
  const KEPT = 600;
  const LEAST_SPAN = 60;
  const charts = new Map();

  const compact = (value) => {
    for (const [unit, suffix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (Math.abs(value) >= unit * 0.9995) return Number((value / unit).toPrecision(3)) + suffix;
    }
    return String(Math.abs(value) < 100 ? Math.round(value * 10) / 10 : Math.round(value));
  };
  const size = (value) => {
    for (const [unit, suffix] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"]]) {
      if (value >= unit) return `${Number((value / unit).toPrecision(3))} ${suffix}`;
    }
    return `${Math.round(value)} B`;
  };
  const written = { rate: compact, count: compact, size };
  const least = { rate: 1, count: 4, size: 1024 };

  // Colours are those of the style sheet, as the theme has them now.
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const faded = (rgb, alpha) => rgb.replace(/^rgba?\(([^)]*)\)$/, (_, parts) => `rgba(${parts.split(",").slice(0, 3).join(",")}, ${alpha})`);

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.plot = figure.querySelector(".plot");
      this.tones = figure.dataset.tones.split(" ");
      this.isStacked = "stacked" in figure.dataset;
      this.write = written[figure.dataset.unit];
      this.least = least[figure.dataset.unit];
      this.shown = figure.querySelector("[data-now]");
      this.t = [];
      this.y = this.tones.map(() => []);
      this.draw();
    }

    draw() {
      this.view?.destroy();
      const { width, height } = this.plot.getBoundingClientRect();
      const axis = {
        stroke: colour("muted"), font: "11px Inter, system-ui, sans-serif", ticks: { show: false },
        grid: { stroke: colour("line"), width: 1 },
      };
      const isTall = this.plot.classList.contains("tall");
      this.view = new uPlot({
        width: Math.max(80, width - 16), height, padding: [8, 4, isTall ? 0 : 4, 0],
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: {
          x: { range: (_, low, high) => [high - Math.min(KEPT, Math.max(LEAST_SPAN, high - low)), high] },
          y: { range: (_, __, high) => [0, Math.max(high * 1.15, this.least)] },
        },
        axes: [
          { ...axis, show: isTall, size: 28, grid: { show: false }, space: 90, values: (_, at) => at.map((one) => new Date(one * 1000).toTimeString().slice(0, 8)) },
          { ...axis, size: 52, gap: 4, incrs: this.incrs(), space: isTall ? 44 : 26, values: (_, at) => at.map((one) => this.write(one)) },
        ],
        series: [{}, ...this.order().map((line) => {
          const tone = colour(this.tones[line]);
          return {
            stroke: tone, width: 1.5, points: { show: false },
            fill: this.isStacked ? tone : faded(tone, 0.12),
          };
        })],
        hooks: { setCursor: [(view) => this.tell(view.cursor.idx)] },
      }, this.data(), this.plot);
    }

    // Whole numbers for counts, powers of two for bytes.
    incrs() {
      if (this.figure.dataset.unit === "size") return Array.from({ length: 45 }, (_, power) => 2 ** power);
      const tens = Array.from({ length: 13 }, (_, power) => 10 ** power).flatMap((unit) => [unit, 2 * unit, 5 * unit]);
      return this.figure.dataset.unit === "rate" ? [0.1, 0.2, 0.5, ...tens] : tens;
    }

    // Stacked lines are drawn from the highest sum down, so that each covers what is not its own.
    order() {
      const lines = this.tones.map((_, line) => line);
      return this.isStacked ? lines.reverse() : lines;
    }

    data() {
      if (!this.isStacked) return [this.t, ...this.y];
      const sums = [];
      this.y.forEach((line, number) => sums.push(line.map((value, at) => value + (number ? sums[number - 1][at] : 0))));
      return [this.t, ...sums.reverse()];
    }

    add(points, isFirst) {
      if (isFirst) { this.t = []; this.y = this.tones.map(() => []); }
      const last = this.t[this.t.length - 1] ?? -1;
      points.t.forEach((at, number) => {
        if (at <= last) return;
        this.t.push(at);
        this.y.forEach((line, row) => line.push(points.y[row][number]));
      });
      if (this.t.length > KEPT) { this.t = this.t.slice(-KEPT); this.y = this.y.map((line) => line.slice(-KEPT)); }
      this.view.setData(this.data());
      this.tell(this.view.cursor.idx);
    }

    tell(index) {
      if (!this.shown) return;
      const at = index ?? this.t.length - 1;
      const total = this.y.reduce((sum, line) => sum + (line[at] ?? 0), 0);
      this.shown.textContent = this.t.length ? this.write(total) : "–";
      this.figure.dataset.points = this.t.length;
    }
  }

  const replace = (id, html) => {
    const element = document.getElementById(id);
    if (!element || element.dataset.last === html) return;
    const selection = getSelection();
    if (!selection.isCollapsed && element.contains(selection.anchorNode)) return;
    const focused = element.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    element.innerHTML = html;
    element.dataset.last = html;
    if (focused !== null) element.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
  };

  const root = document.querySelector("[data-live]");
  if (!root) return;
  document.querySelectorAll("[data-chart]").forEach((figure) => charts.set(figure.dataset.chart, new Chart(figure)));
  const redraw = () => charts.forEach((chart) => chart.draw());
  document.addEventListener("theme", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let resizing = 0;
  addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(redraw, 120); });
  document.fonts?.ready.then(redraw);

  const state = document.querySelector("[data-live-state]");
  const say = (words, isLive) => {
    if (!state) return;
    state.querySelector("span:last-child").textContent = words;
    state.querySelector(".dot").classList.toggle("live", isLive);
  };
  let source;
  const open = () => {
    source = new EventSource(root.dataset.live);
    source.onmessage = (event) => {
      const update = JSON.parse(event.data);
      for (const [name, points] of Object.entries(update.charts)) charts.get(name)?.add(points, update.first);
      for (const [id, html] of Object.entries(update.html)) replace(id, html);
      say("Live", true);
    };
    source.onerror = () => {
      say("Reconnecting…", false);
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
    };
  };
  // A page that nobody looks at is not fed.
  document.addEventListener("visibilitychange", () => {
    source?.close();
    if (document.visibilityState === "visible") open();
  });
  addEventListener("pagehide", () => source?.close());
  open();
})();
