// Charts and tables that stay up to date: one stream of server-sent events for a page.
"use strict";

(() => {
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
  const written = { rate: (value) => `${compact(value)}/s`, count: compact, size: (value) => `${size(value)}/s` };
  const least = { rate: 1, count: 4, size: 1024 };
  const clock = (at, length) => new Date(at * 1000).toTimeString().slice(0, length);

  // What is chosen for all charts, and remembered.
  const remembered = (name, allowed, usual) => {
    try { const found = localStorage.getItem(`goqueue-${name}`); return allowed.includes(found) ? found : usual; } catch { return usual; }
  };
  const remember = (name, value) => { try { localStorage.setItem(`goqueue-${name}`, value); } catch { /* For this page only. */ } };
  const choices = {
    minutes: remembered("minutes", ["1", "5", "10", "60"], "10"),
    scale: remembered("scale", ["auto", "linear", "log"], "auto"),
  };

  // Colours are those of the style sheet, as the theme has them now.
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const faded = (rgb, alpha) => rgb.replace(/^rgba?\(([^)]*)\)$/, (_, parts) => `rgba(${parts.split(",").slice(0, 3).join(",")}, ${alpha})`);

  const element = (tag, className, text = "") => {
    const made = document.createElement(tag);
    made.className = className;
    made.textContent = text;
    return made;
  };

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.plot = figure.querySelector(".plot");
      this.label = this.plot.getAttribute("aria-label");
      this.tones = figure.dataset.tones.split(" ");
      this.names = figure.dataset.lines.split(",");
      this.isStacked = "stacked" in figure.dataset;
      this.unit = figure.dataset.unit;
      this.tick = { rate: compact, count: compact, size }[this.unit];
      this.least = least[this.unit];
      this.shown = figure.querySelector("[data-now]");
      this.peak = figure.querySelector("[data-peak]");
      this.tip = element("div", "tip");
      this.tip.hidden = true;
      this.t = [];
      this.y = this.tones.map(() => []);
      this.plot.tabIndex = 0;
      this.plot.addEventListener("keydown", (event) => this.move(event));
      this.plot.addEventListener("blur", () => this.point(null));
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
      const isLog = choices.scale === "log";
      this.view = new uPlot({
        width: Math.max(80, width - 16), height, padding: [8, 8, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: "charts" } },
        scales: {
          x: { range: (_, low, high) => [high - Math.min(choices.minutes * 60, Math.max(LEAST_SPAN, high - low)), high] },
          y: { range: (_, __, high) => [0, this.top(high)], ...(isLog ? { distr: 4, asinh: this.least } : {}) },
        },
        axes: [
          { ...axis, size: 22, gap: 2, grid: { show: false }, space: isTall ? 90 : 64, values: (view, at) => at.map((one) => clock(one, view.scales.x.max - view.scales.x.min < 200 ? 8 : 5)) },
          {
            ...axis, size: 52, gap: 4, space: isTall ? 44 : 26, values: (_, at) => at.map((one) => (isLog && !one ? "" : this.tick(one))),
            ...(isLog ? { splits: (view) => this.powers(view.scales.y.max), filter: (_, splits) => splits } : { incrs: this.incrs() }),
          },
        ],
        series: [{}, ...this.order().map((line) => {
          const tone = colour(this.tones[line]);
          return { stroke: tone, width: 1.5, points: { show: false }, fill: this.isStacked ? tone : faded(tone, 0.12) };
        })],
        hooks: { setCursor: [(view) => this.tell(view.cursor.idx)] },
      }, this.data(), this.plot);
      this.view.over.append(this.tip);
      this.tell(null);
    }

    // The highest value that is drawn. "Auto" cuts off a peak that would press the rest flat, and names it.
    top(high) {
      const room = this.room(high);
      this.figure.dataset.top = room;
      return room;
    }

    room(high) {
      this.peak.textContent = "";
      const room = Math.max(high * 1.15, this.least);
      if (choices.scale !== "auto" || !this.t.length) return room;
      const sums = this.t.map((_, at) => this.total(at)).sort((one, other) => one - other);
      const usual = sums[Math.floor((sums.length - 1) * 0.95)];
      if (usual < this.least || high <= usual * 4) return room;
      this.peak.textContent = `peak ${written[this.unit](high)}`;
      return usual * 2;
    }

    // Whole numbers for counts, powers of two for bytes.
    incrs() {
      if (this.unit === "size") return Array.from({ length: 45 }, (_, power) => 2 ** power);
      const tens = Array.from({ length: 13 }, (_, power) => 10 ** power).flatMap((unit) => [unit, 2 * unit, 5 * unit]);
      return this.unit === "rate" ? [0.1, 0.2, 0.5, ...tens] : tens;
    }

    // Of a logarithmic scale; about four of them.
    powers(high) {
      const base = this.unit === "size" ? 32 : 10;
      const all = [];
      for (let one = this.least === 4 ? 1 : this.least; one <= high; one *= base) all.push(one);
      const step = Math.ceil(all.length / 4);
      return [0, ...all.filter((_, at) => at % step === 0)];
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

    total(at) { return this.y.reduce((sum, line) => sum + (line[at] ?? 0), 0); }

    add(points, isFirst) {
      if (isFirst) { this.t = []; this.y = this.tones.map(() => []); }
      points.t.forEach((at, number) => {
        const last = this.t.length - 1;
        if (at < this.t[last]) return;
        // The last instant is sent again while it is under way.
        const place = at === this.t[last] ? last : last + 1;
        this.t[place] = at;
        this.y.forEach((line, row) => { line[place] = points.y[row][number]; });
      });
      const from = this.t.findIndex((at) => at >= this.t[this.t.length - 1] - choices.minutes * 60);
      if (from > 0) { this.t = this.t.slice(from); this.y = this.y.map((line) => line.slice(from)); }
      this.view.setData(this.data());
      this.tell(this.view.cursor.idx);
    }

    // The arrow keys go through the values, as a mouse does.
    move(event) {
      const last = this.t.length - 1;
      const at = this.view.cursor.idx ?? last + 1;
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
      if (event.key === "Escape") this.point(null);
      if (to === undefined || last < 0) return;
      event.preventDefault();
      this.point(Math.min(last, Math.max(0, to)));
    }

    point(index) {
      this.view.setCursor(index === null ? { left: -10, top: -10 } : { left: this.view.valToPos(this.t[index], "x"), top: 10 });
    }

    tell(index) {
      const last = this.t.length - 1;
      const at = index ?? last;
      this.figure.dataset.points = this.t.length;
      this.shown.textContent = last < 0 ? "–" : this.tick(this.total(at));
      const value = last < 0 ? "nothing yet" : written[this.unit](this.total(at));
      this.plot.setAttribute("aria-label", `${this.label}: ${value}${index === null || index === undefined ? "" : ` at ${clock(this.t[at], 8)}`}`);
      const isHere = this.plot.matches(":hover, :focus");
      this.tip.hidden = !isHere || index === null || index === undefined || last < 0;
      if (this.tip.hidden) return;
      this.tip.replaceChildren(element("span", "muted", clock(this.t[at], 8)));
      this.y.forEach((line, number) => {
        if (this.isStacked && !line[at]) return;
        const row = element("span", "tip-row");
        if (this.isStacked) row.append(element("span", `dot ${this.tones[number]}`), `${this.names[number]} `);
        row.append(element("strong", "", written[this.unit](line[at])));
        this.tip.append(row);
      });
      const left = this.view.cursor.left;
      const width = this.view.over.clientWidth;
      this.tip.style.left = `${Math.max(0, Math.min(width - this.tip.offsetWidth, left + (left > width / 2 ? -this.tip.offsetWidth - 8 : 8)))}px`;
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
    const url = new URL(root.dataset.live, location.href);
    if (charts.size) url.searchParams.set("minutes", choices.minutes);
    source = new EventSource(url);
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

  // Range and scale, for all charts of the page.
  const press = () => document.querySelectorAll("[data-minutes], [data-scale]").forEach((button) => {
    const isChosen = button.dataset.minutes === choices.minutes || button.dataset.scale === choices.scale;
    button.setAttribute("aria-pressed", String(isChosen));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-minutes], [data-scale]");
    if (!button) return;
    const name = "minutes" in button.dataset ? "minutes" : "scale";
    choices[name] = button.dataset[name];
    remember(name, choices[name]);
    press();
    if (name === "minutes") { source?.close(); open(); } else redraw();
  });
  press();

  // A page in the background is not fed.
  document.addEventListener("visibilitychange", () => {
    source?.close();
    if (document.visibilityState === "visible") open();
  });
  addEventListener("pagehide", () => source?.close());
  open();
})();
