// A chart: uPlot has its axes, zoom and pointer, the painter draws what is in it, the readout says what is under the pointer.

const HEIGHT = 336;
// Width on paper, within the margins of A4 upright.
const PAPER = 690;

function themeOf() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    isDark: style.colorScheme === "dark",
    page: colour("--page"),
    text: colour("--text"),
    muted: colour("--muted"),
    line: colour("--line"),
    grid: colour("--grid"),
    font: "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif",
  };
}

class Chart {
  constructor(host, spec) {
    Object.assign(this, { host, spec, hidden: new Set(), zoom: { x: null, y: null }, isPinned: false, isAslant: false, at: null });
    this.layout = layOut(spec);
    this.theme = themeOf();
    this.readout = new Readout(this);
    this.canvas = make("div", "canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "chart");
    this.canvas.setAttribute("aria-labelledby", host.dataset.title);
    this.canvas.setAttribute("aria-describedby", "chart-keys");
    const { tools, legend, marks, live } = this.readout;
    host.append(tools, this.canvas, legend, marks, figuresOf(this.layout), live);
    this.measure();
    this.plot = new uPlot(this.options(), this.data(), this.canvas);
    this.plot.over.append(this.readout.cross, this.readout.tip);
    this.listen();
    this.readout.drawSwatches(this.theme);
    this.readout.showMarks();
  }

  // What is seen: all, or what the reader zoomed to.
  measure() {
    stack(this.layout, this.hidden);
    const x = this.zoom.x || rangeOfX(this.layout, this.hidden);
    const y = this.zoom.y || rangeOfY(this.layout, this.hidden, x);
    this.range = { x, y };
    const largest = (ends) => Math.max(...ends.map(Math.abs));
    this.scale = { x: scaleOf(this.spec.x, largest(x)), y: scaleOf(this.spec.y, largest(y)) };
  }

  // uPlot is told the ends of the axes and nothing else; the points are the painter's.
  data() {
    return [this.range.x, [null, null]];
  }

  options() {
    const distribution = (axis) => (axis.logarithmic && !axis.names ? 3 : 1);
    return {
      width: this.width(),
      height: HEIGHT,
      padding: [14, 18, 0, 0],
      legend: { show: false },
      cursor: {
        x: false,
        y: false,
        points: { show: false },
        drag: { x: true, y: true, uni: 24, dist: 4, setScale: false },
        bind: { dblclick: () => () => this.showAll() },
      },
      scales: {
        x: { time: false, distr: this.layout.names ? 1 : distribution(this.spec.x), range: () => this.range.x },
        y: { distr: distribution(this.spec.y), range: () => this.range.y },
      },
      series: [{}, { scale: "y", auto: false, paths: () => null, points: { show: false } }],
      axes: [this.axisOfX(), this.axisOfY()],
      hooks: {
        draw: [(plot) => new Painter(plot, this.layout, this.hidden, this.theme).draw()],
        setSelect: [(plot) => this.selected(plot)],
      },
    };
  }

  axis(key) {
    return {
      stroke: () => this.theme.text,
      font: `12px ${this.theme.font}`,
      labelFont: `600 12px ${this.theme.font}`,
      label: () => axisLabel(this.spec[key], this.scale[key]),
      labelSize: 22,
      labelGap: 2,
      gap: 4,
      grid: { stroke: () => this.theme.grid, width: 1 },
      ticks: { stroke: () => this.theme.line, width: 1, size: 5 },
      border: { show: true, stroke: () => this.theme.line, width: 1 },
      filter: (plot, splits) => splits,
    };
  }

  axisOfX() {
    return {
      ...this.axis("x"),
      splits: (plot, nth, min, max) => this.ticksOfX(min, max),
      values: (plot, splits) => (this.layout.names ? this.names(splits) : splits.map((tick) => this.textOfX(tick, splits))),
      grid: { show: !this.layout.names, stroke: () => this.theme.grid, width: 1 },
      lineGap: 1.2,
      rotate: () => (this.isAslant ? 38 : 0),
      size: (plot, texts) => this.heightOf(texts || []),
    };
  }

  axisOfY() {
    return {
      ...this.axis("y"),
      splits: (plot, nth, min, max) => ticks(this.spec.y, min, max, 6, this.scale.y),
      values: (plot, splits) => splits.map((tick) => tickText(tick, splits, this.spec.y, this.scale.y)),
      size: (plot, texts) => (texts ? this.widest(texts) + 15 : 50),
    };
  }

  ticksOfX(min, max) {
    const width = this.width() - 80;
    if (this.layout.names) {
      const first = Math.max(0, Math.ceil(min));
      const last = Math.min(this.layout.names.length - 1, Math.floor(max));
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, nth) => first + nth);
    }
    const axis = this.spec.x;
    const places = this.places().filter((place) => place >= min && place <= max);
    // Frame and ring sizes are known by their own values, not by round ones.
    if (axis.unit !== "bytes" || places.length < 2 || places.length > 16) {
      const found = ticks(axis, this.layout.zero ? Math.max(min, this.layout.zero * 1.3) : min, max, Math.floor(width / 85), this.scale.x);
      return this.layout.zero >= min ? [this.layout.zero, ...found] : found;
    }
    const along = (value) => (axis.logarithmic ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min));
    let last = -Infinity;
    return places.filter((place) => {
      const isApart = (along(place) - along(last)) * width >= 44 || last === -Infinity;
      if (isApart) last = place;
      return isApart;
    });
  }

  textOfX(tick, all) {
    if (tick === this.layout.zero) return "0";
    if (this.spec.x.unit === "bytes") return rounded(tick / this.scale.x.factor);
    return tickText(tick, all, this.spec.x, this.scale.x);
  }

  widest(texts) {
    const { ctx } = this.plot || {};
    const pen = ctx || document.createElement("canvas").getContext("2d");
    pen.save();
    pen.font = `12px ${this.theme.font}`;
    const widest = Math.max(...texts.map((text) => pen.measureText(text).width), 0);
    pen.restore();
    return widest;
  }

  // Names at their places: in a line, else one below the other at their commas, else aslant and shortened.
  names(places) {
    const room = (this.width() - 80) / Math.max(1, places.length) - 8;
    const whole = places.map((place) => this.layout.names[place]);
    const broken = whole.map((name) => name.replaceAll(", ", ",\n"));
    const fits = (texts) => this.widest(texts.flatMap((text) => text.split("\n"))) <= room;
    const found = [whole, broken].find(fits);
    this.isAslant = found === undefined;
    return found || whole.map((name) => shortened(name, 18));
  }

  heightOf(texts) {
    if (this.isAslant) return 18 + this.widest(texts) * 0.62;
    return 32 + 15 * (Math.max(1, ...texts.map((text) => text.split("\n").length)) - 1);
  }

  width() {
    return this.isPrinting ? PAPER : Math.max(200, this.canvas.clientWidth);
  }

  // Places of the horizontal axis that have a visible point, by rising place.
  places() {
    return [...new Set(visible(this.layout, this.hidden).map(({ point }) => point.place))].sort((a, b) => a - b);
  }

  seenPlaces() {
    return this.places().filter((place) => place >= this.range.x[0] && place <= this.range.x[1]);
  }

  update() {
    this.measure();
    const [x, y] = [this.range.x, this.range.y];
    this.plot.batch(() => {
      this.plot.setData(this.data(), false);
      this.plot.setScale("x", { min: x[0], max: x[1] });
      this.plot.setScale("y", { min: y[0], max: y[1] });
      this.plot.redraw(true, true);
    });
    this.readout.reset.disabled = this.zoom.x === null && this.zoom.y === null;
    this.readout.showMarks();
    if (this.at) this.place(this.at.place, this.at.point);
  }

  toggle(nth) {
    const isShown = this.hidden.delete(nth);
    if (!isShown) this.hidden.add(nth);
    this.update();
    return isShown;
  }

  showAll() {
    this.zoom = { x: null, y: null };
    this.update();
  }

  // A rectangle was drawn with the pointer: a level or upright one zooms one axis only.
  selected(plot) {
    const { left, top, width, height } = plot.select;
    if (width === 0 && height === 0) return;
    const isWide = width >= plot.over.clientWidth - 1;
    const isHigh = height >= plot.over.clientHeight - 1;
    const ends = (from, to, key) => [plot.posToVal(from, key), plot.posToVal(to, key)];
    if (!isWide) this.zoom.x = ends(left, left + width, "x");
    if (!isHigh) this.zoom.y = ends(top + height, top, "y");
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.update();
  }

  // Zooms the horizontal axis about the place that the reader is at.
  zoomBy(times) {
    const isLogarithmic = this.spec.x.logarithmic && !this.layout.names;
    const [to, back] = isLogarithmic ? [Math.log, Math.exp] : [(x) => x, (x) => x];
    const [low, high] = this.range.x.map(to);
    const centre = this.at ? to(this.at.place) : (low + high) / 2;
    const [least, most] = rangeOfX(this.layout, this.hidden).map(to);
    const ends = [Math.max(least, centre - (centre - low) * times), Math.min(most, centre + (high - centre) * times)];
    const isAll = ends[1] - ends[0] > (most - least) * 0.9999;
    this.zoom.x = isAll ? null : ends.map(back);
    this.zoom.y = null;
    this.update();
  }

  pixel(point) {
    const { spec } = this.layout;
    const isOff = spec.y.logarithmic && point.to <= 0;
    const top = isOff ? this.plot.over.clientHeight - 6 : this.plot.valToPos(point.to, "y");
    return { left: this.plot.valToPos(point.place + point.shift, "x"), top };
  }

  // How far a point is from the pointer, among those of its place.
  distance({ nth, point }, left, top) {
    const { spec } = this.layout;
    if (spec.kind === "bars") {
      const shown = this.layout.series.map((series, at) => at).filter((at) => !this.hidden.has(at));
      const slot = this.plot.valToPos(1, "x") - this.plot.valToPos(0, "x");
      const middle = this.plot.valToPos(point.place, "x") + barShift(shown.indexOf(nth), shown.length, barWidth(slot, shown.length, false, 1));
      return Math.abs(left - middle);
    }
    if (point.to === null) return Infinity;
    const { left: across, top: at } = this.pixel(point);
    if (!isStacked(spec)) return Math.hypot(left - across, top - at);
    if (this.layout.series[nth].total) return Math.max(0, Math.abs(top - at) - 6) || -1;
    const from = spec.y.logarithmic && point.from <= 0 ? this.plot.over.clientHeight : this.plot.valToPos(point.from, "y");
    const isInside = top >= Math.min(at, from) && top <= Math.max(at, from);
    return isInside ? 0 : Math.min(Math.abs(top - at), Math.abs(top - from));
  }

  // Of each series the point at this place that is nearest to the pointer, and of these the nearest.
  reading(place, left, top) {
    const rows = new Map();
    for (const one of visible(this.layout, this.hidden)) {
      if (one.point.place !== place) continue;
      const row = { ...one, distance: this.distance(one, left, top) };
      const other = rows.get(row.nth);
      if (!other || row.distance < other.distance) rows.set(row.nth, row);
    }
    const all = [...rows.values()];
    if (all.length === 0) return null;
    const focus = all.reduce((nearest, row) => (row.distance < nearest.distance ? row : nearest));
    return { rows: all, focus, isMove: true };
  }

  pointed(event) {
    if (this.isPinned) return;
    const { left: edge, top: ceiling } = this.plot.over.getBoundingClientRect();
    const [left, top] = [event.clientX - edge, event.clientY - ceiling];
    const seen = this.seenPlaces();
    if (seen.length === 0) return;
    const distance = (place) => Math.abs(this.plot.valToPos(place, "x") - left);
    const place = seen.reduce((nearest, one) => (distance(one) < distance(nearest) ? one : nearest));
    const reading = this.reading(place, left, top);
    this.at = { place, point: reading.focus.point };
    this.readout.show(reading, false);
    this.readout.showTip(reading, left, top);
  }

  // Goes to a place without the pointer, and there to a point, if one is given.
  place(place, point, isByKeyboard) {
    const here = visible(this.layout, this.hidden).filter((one) => one.point.place === place);
    if (here.length === 0) {
      this.at = null;
      this.readout.clear();
      return;
    }
    // The point may be of a series that was switched off.
    const wanted = here.find((one) => one.point === point);
    const at = this.pixel((wanted || here[0]).point);
    const reading = this.reading(place, at.left, Number.isFinite(at.top) ? at.top : 0);
    if (wanted) {
      reading.rows = reading.rows.map((row) => (row.nth === wanted.nth ? wanted : row));
      reading.focus = wanted;
      reading.isMove = false;
    }
    this.at = { place, point: reading.focus.point };
    this.readout.hideTip();
    this.readout.show(reading, isByKeyboard);
  }

  step(by) {
    const seen = this.seenPlaces();
    if (seen.length === 0) return;
    const now = this.at ? seen.indexOf(this.at.place) : -1;
    const isLost = now < 0 && Number.isFinite(by);
    const next = isLost && by < 0 ? seen.length - 1 : now + by;
    this.place(seen[Math.max(0, Math.min(seen.length - 1, next))], null, true);
  }

  // Through the points of a place, from the lowest upwards.
  climb(by) {
    if (!this.at) {
      this.step(1);
      return;
    }
    const here = visible(this.layout, this.hidden).filter(({ point }) => point.place === this.at.place);
    here.sort((a, b) => (a.point.to ?? -Infinity) - (b.point.to ?? -Infinity));
    const now = here.findIndex(({ point }) => point === this.at.point);
    const next = here[Math.max(0, Math.min(here.length - 1, now + by))];
    if (next) this.place(this.at.place, next.point, true);
  }

  pin(isPinned) {
    this.isPinned = isPinned;
    if (isPinned) this.readout.hideTip();
    if (this.at) this.place(this.at.place, this.at.point);
  }

  escape() {
    if (this.isPinned) this.pin(false);
    this.showAll();
    this.readout.hideTip();
  }

  openTrial() {
    const trials = this.at ? this.at.point.trials : [];
    const first = trials.find((trial) => document.getElementById(`trial-${trial}`));
    if (first === undefined) return;
    cite(trials);
    location.hash = `trial-${first}`;
  }

  listen() {
    const keys = {
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      ArrowUp: () => this.climb(1),
      ArrowDown: () => this.climb(-1),
      Home: () => this.step(-Infinity),
      End: () => this.step(Infinity),
      "+": () => this.zoomBy(0.5),
      "=": () => this.zoomBy(0.5),
      "-": () => this.zoomBy(2),
      Escape: () => this.escape(),
      Enter: () => this.openTrial(),
    };
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.readout.reset.addEventListener("click", () => {
      this.showAll();
      this.canvas.focus({ preventScroll: true });
    });
    const { over } = this.plot;
    over.addEventListener("mousemove", (event) => this.pointed(event));
    over.addEventListener("mouseleave", () => this.readout.hideTip());
    over.addEventListener("click", () => this.pin(!this.isPinned));
    new ResizeObserver(() => this.resize()).observe(this.canvas);
  }

  resize() {
    if (this.isPrinting || this.canvas.clientWidth === 0 || this.plot.width === this.width()) return;
    this.plot.setSize({ width: this.width(), height: HEIGHT });
    // The new size holds once uPlot has taken it over, which it does before the next picture.
    requestAnimationFrame(() => this.at && this.place(this.at.place, this.at.point));
  }

  // In the colours that the page has now.
  recolour() {
    this.theme = themeOf();
    this.plot.redraw(true, true);
    this.readout.drawSwatches(this.theme);
  }

  print(isPrinting) {
    this.isPrinting = isPrinting;
    this.recolour();
    this.plot.setSize({ width: this.width(), height: HEIGHT });
  }
}
