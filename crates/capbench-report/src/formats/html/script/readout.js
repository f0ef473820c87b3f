// What a chart says beside its lines: the legend with its switches, the values at a place with their trials, marks and keys.

// The widest text that an axis or a list of names shows.
function shortened(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function intervalText(point, axis) {
  return point.interval && point.y !== null ? `${number(point.interval[0], axis.unit)} to ${number(point.interval[1], axis.unit)}` : "";
}

function placeText(layout, point) {
  const axis = layout.spec.x;
  // Points of one name may stand beside each other.
  if (axis.names) return axis.names[Math.round(point.x)] ?? `${point.x}`;
  return quantity(point.x, axis);
}

class Readout {
  constructor(chart) {
    this.chart = chart;
    const { spec } = chart;
    this.at = make("p", "at", "Drag to zoom, click to keep values");
    this.reset = make("button", "reset", "Show all");
    this.reset.type = "button";
    this.reset.disabled = true;
    this.tools = make("div", "tools", this.at, this.reset);
    this.live = make("p", "quiet");
    this.live.setAttribute("aria-live", "polite");
    this.entries = spec.series.map((series, nth) => this.entry(series, nth));
    this.legend = make("ul", "legend", ...this.entries.map(({ item }) => item));
    this.marks = make("ul", "marks", ...spec.marks.map((mark) => make("li", "", this.markText(mark))));
    const isOff = (y) => y !== null && y <= 0;
    if (spec.y.logarithmic && !isBars(spec) && spec.series.some((series) => series.y.some(isOff))) {
      this.marks.append(make("li", "", "Hollow arrows at the bottom edge: 0 or below, which a logarithmic axis has no place for"));
    }
    this.tip = make("div", "tip");
    this.tip.setAttribute("aria-hidden", "true");
    this.tip.hidden = true;
    this.cross = make("div", "cross");
    this.cross.hidden = true;
    this.dots = [];
  }

  entry(series, nth) {
    const swatch = make("canvas");
    const button = make("button", "", swatch, make("span", "", series.name));
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    const value = make("span", "value");
    const from = make("span", "from");
    const item = make("li", "", button, " ", value, from);
    button.addEventListener("click", () => {
      const isShown = this.chart.toggle(nth);
      button.setAttribute("aria-pressed", `${isShown}`);
    });
    return { item, button, swatch, value, from };
  }

  markText(mark) {
    const { x, y } = this.chart.spec;
    if (mark.x !== undefined) return `${mark.label}: at ${placeText({ spec: this.chart.spec }, mark)}`;
    if (mark.y !== undefined) return `${mark.label}: ${quantity(mark.y, y)}`;
    const [low, high] = extent(mark.curve.map(([, height]) => height));
    return `${mark.label}: ${number(low, y.unit)} to ${quantity(high, y)}, by ${x.label}`;
  }

  // Which marks are too far from the points to be drawn among them.
  showMarks() {
    this.chart.spec.marks.forEach((mark, nth) => {
      const { x, y } = this.chart.range;
      const heights = mark.curve ? mark.curve.map(([, height]) => height) : [mark.y];
      const isIn = (value, [low, high]) => value >= low && value <= high;
      const isSeen = mark.x !== undefined ? isIn(this.chart.layout.place(mark.x), x) : heights.some((one) => isIn(one, y));
      this.marks.children[nth].textContent = this.markText(mark) + (isSeen ? "" : " (beyond what is shown)");
    });
  }

  drawSwatches(theme) {
    const ratio = window.devicePixelRatio || 1;
    this.chart.spec.series.forEach((series, nth) => {
      const { swatch } = this.entries[nth];
      [swatch.width, swatch.height] = [26 * ratio, 14 * ratio];
      [swatch.style.width, swatch.style.height] = ["26px", "14px"];
      const context = swatch.getContext("2d");
      const colour = theme.isDark ? series.dark : series.light;
      context.strokeStyle = colour;
      if ((isBars(this.chart.spec) || isStacked(this.chart.spec)) && !series.total) {
        context.lineWidth = 2 * ratio;
        context.fillStyle = series.hatched ? hatch(context, colour, ratio) : colour;
        if (!series.hollow) context.fillRect(4 * ratio, ratio, 18 * ratio, 12 * ratio);
        if (series.hollow || series.hatched) context.strokeRect(4 * ratio, ratio, 18 * ratio, 12 * ratio);
        return;
      }
      context.lineWidth = 2 * ratio;
      if (this.chart.spec.kind === "lines") {
        context.setLineDash(series.dash.map((length) => length * ratio));
        path(context, [[0, 7 * ratio], [26 * ratio, 7 * ratio]]);
        context.stroke();
      }
      if (!series.marked) return;
      context.setLineDash([]);
      drawMarker(context, series.marker, 13 * ratio, 7 * ratio, 3.6 * ratio, colour, series.hollow ? theme.page : colour);
    });
  }

  // The values at a place: of each series the point that is read there, and which of them the reader is at.
  show(reading, isByKeyboard) {
    const { spec, layout } = this.chart;
    const rows = new Map(reading.rows.map((row) => [row.nth, row]));
    const where = placeText(layout, reading.focus.point);
    this.legend.classList.add("read");
    this.at.replaceChildren(`${spec.x.label} `, make("strong", "", where), this.chart.isPinned ? " (kept; click or Escape lets go)" : "");
    this.entries.forEach((entry, nth) => {
      const row = rows.get(nth);
      entry.item.classList.toggle("focus", reading.focus.nth === nth);
      entry.value.textContent = row ? quantity(row.point.y, spec.y) : "";
      entry.value.title = row && row.point.y !== null ? `${row.point.y}` : "";
      entry.from.replaceChildren();
      if (!row) return;
      const interval = intervalText(row.point, spec.y);
      if (interval) entry.from.append(`${interval}${row.point.trials.length > 0 ? "; " : ""}`);
      entry.from.append(evidence(row.point.trials));
    });
    this.showCross(reading.focus.point.place);
    this.showDots(reading);
    if (isByKeyboard) this.announce(reading, where);
  }

  clear() {
    this.at.textContent = "";
    this.entries.forEach(({ item, value, from }) => {
      item.classList.remove("focus");
      value.textContent = "";
      from.replaceChildren();
    });
    this.dots.forEach((dot) => {
      dot.hidden = true;
    });
    this.cross.hidden = true;
    this.hideTip();
  }

  announce(reading, where) {
    const { spec } = this.chart;
    const said = ({ series, point }) => {
      const interval = intervalText(point, spec.y);
      return [`${series.name}: ${quantity(point.y, spec.y)}`, interval, trialsInWords(point.trials)].filter(Boolean).join(", ");
    };
    const rest = reading.isMove ? reading.rows.filter((row) => row !== reading.focus) : [];
    const all = [reading.focus, ...(rest.length < 6 ? rest : [])].map(said).join("; ");
    this.live.textContent = `${spec.x.label} ${where}. ${all}`;
  }

  showDots(reading) {
    const { plot, layout } = this.chart;
    while (this.dots.length < reading.rows.length) {
      const dot = make("div", "dot");
      plot.over.append(dot);
      this.dots.push(dot);
    }
    this.dots.forEach((dot, nth) => {
      const row = reading.rows[nth];
      // Bars are wide enough to be seen without.
      dot.hidden = !row || row.point.to === null || isBars(layout.spec);
      if (dot.hidden) return;
      const { left, top } = this.chart.pixel(row.point);
      dot.hidden = left < 0 || left > plot.over.clientWidth || top < 0 || top > plot.over.clientHeight;
      dot.style.transform = `translate(${left}px, ${top}px)`;
    });
  }

  // Upright, at the place that is read.
  showCross(place) {
    const { plot } = this.chart;
    const left = plot.valToPos(place, "x");
    this.cross.hidden = left < 0 || left > plot.over.clientWidth;
    this.cross.style.transform = `translate(${left}px, 0)`;
  }

  // Beside the pointer and the points that it tells of.
  showTip(reading, left, top) {
    const { spec, layout, plot, theme } = this.chart;
    const rows = reading.rows.map((row) => {
      const key = make("span", "key");
      key.style.background = theme.isDark ? row.series.dark : row.series.light;
      const line = make("div", row === reading.focus ? "focus" : "", key);
      line.append(make("span", "", `${row.series.name}: ${quantity(row.point.y, spec.y)}`));
      return line;
    });
    const from = make("div", "", trialsInWords(reading.focus.point.trials));
    this.tip.replaceChildren(make("div", "", make("strong", "", placeText(layout, reading.focus.point))), ...rows, from);
    this.tip.hidden = false;
    const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const place = plot.valToPos(reading.focus.point.place, "x");
    const [before, behind] = [Math.min(left, place) - 16 - width, Math.max(left, place) + 16];
    const x = behind + width > plot.over.clientWidth ? Math.max(0, before) : behind;
    const y = Math.max(0, Math.min(top - height / 2, plot.over.clientHeight - height));
    this.tip.style.transform = `translate(${x}px, ${y}px)`;
  }

  hideTip() {
    this.tip.hidden = true;
  }
}

// Every point of a chart as a table, made when it is asked for.
function figuresOf(layout) {
  const { spec } = layout;
  const details = make("details", "figures", make("summary", "", "Figures of this chart"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const hasIntervals = spec.series.some((series) => series.intervals.length > 0);
    const units = [spec.x.names ? "" : spec.x.symbol, "", spec.y.symbol];
    const heads = [spec.x.label, "series", spec.y.label, ...(hasIntervals ? ["from", "to"] : []), "trials"];
    const head = make("tr", "", ...heads.map((text, nth) => {
      const cell = make("th", text === "trials" ? "fixed" : "", make("span", "head", text));
      cell.scope = "col";
      cell.dataset.unit = nth > 2 ? units[2] : units[nth];
      if (cell.dataset.unit && text !== "trials") cell.append(" ", make("span", "unit", cell.dataset.unit));
      return cell;
    }));
    const table = make("table", "", make("thead", "", head), make("tbody", "", ...figureRows(layout, hasIntervals)));
    const box = make("div", "box", table);
    box.tabIndex = 0;
    details.append(box);
    makeSortable(table);
  });
  return details;
}

function figureRows(layout, hasIntervals) {
  const { spec } = layout;
  const field = (value, axis) => {
    const cell = make("td", value === null ? "n unknown" : "n", number(value, axis.unit));
    if (value !== null) cell.dataset.value = `${value}`;
    return cell;
  };
  return layout.series.flatMap((series) => series.points.map((point) => {
    const at = make("th", "", spec.x.names ? placeText(layout, point) : number(point.x, spec.x.unit));
    at.scope = "row";
    if (!spec.x.names) at.dataset.value = `${point.x}`;
    const ends = point.interval || [null, null];
    const interval = ends.map((end) => (end === null ? make("td") : field(end, spec.y)));
    const rest = make("td", "", evidence(point.trials));
    return make("tr", "", at, make("td", "", series.name), field(point.y, spec.y), ...(hasIntervals ? interval : []), rest);
  }));
}
