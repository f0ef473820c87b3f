// Draws a chart's series and marks on the canvas of uPlot, which has drawn axes and grid by then.

function path(context, points) {
  context.beginPath();
  points.forEach(([x, y], nth) => (nth === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
}

const CORNERS = {
  square: [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]],
  triangle: [[0, -1.1], [1, 0.8], [-1, 0.8]],
  diamond: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
  arrow: [[0, 1.1], [1, -0.8], [-1, -0.8]],
};

function drawMarker(context, shape, x, y, radius, colour, fill) {
  context.beginPath();
  const corners = CORNERS[shape];
  if (corners) {
    corners.forEach(([dx, dy], nth) => context[nth === 0 ? "moveTo" : "lineTo"](x + dx * radius, y + dy * radius));
    context.closePath();
  } else {
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = colour;
  context.stroke();
}

// Lines aslant, for what nothing explains.
function hatch(context, colour, ratio) {
  const size = Math.round(6 * ratio);
  const tile = document.createElement("canvas");
  [tile.width, tile.height] = [size, size];
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = ratio;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

// Of a bar with its gap, in a slot that it shares with others unless they lie on top of each other.
function barWidth(slot, count, areStacked, ratio) {
  return areStacked ? Math.min(slot * 0.66, 90 * ratio) : Math.min((slot * 0.8) / count, 60 * ratio);
}

function barShift(nth, count, width) {
  return (nth - (count - 1) / 2) * width;
}

class Painter {
  constructor(plot, layout, hidden, theme) {
    Object.assign(this, { plot, layout, hidden, theme, context: plot.ctx, ratio: window.devicePixelRatio || 1 });
    this.labels = [];
    this.bottom = plot.bbox.top + plot.bbox.height;
  }

  x(place) {
    return this.plot.valToPos(place, "x", true);
  }

  // On a logarithmic axis, what is not above 0 stands at the bottom edge.
  y(value) {
    if (this.layout.spec.y.logarithmic && value <= 0) return this.bottom;
    return this.plot.valToPos(value, "y", true);
  }

  colour(series) {
    return this.theme.isDark ? series.dark : series.light;
  }

  draw() {
    const { context, plot, layout } = this;
    context.save();
    context.beginPath();
    context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
    context.clip();
    context.lineJoin = "round";
    const shown = layout.series.map((series, nth) => ({ series, nth })).filter(({ nth }) => !this.hidden.has(nth));
    if (isBars(layout.spec)) this.bars(shown);
    else if (layout.spec.kind === "stacked") this.areas(shown);
    else shown.forEach(({ series }) => this.line(series));
    layout.spec.marks.forEach((mark) => this.mark(mark));
    context.restore();
    if (layout.spec.kind === "lines" || layout.spec.kind === "points") shown.forEach(({ series }) => this.markers(series));
    else shown.filter(({ series }) => series.total).forEach(({ series }) => this.markers(series));
  }

  // Neighbours that are both known, as one piece each.
  pieces(points) {
    const pieces = [[]];
    for (const point of points) {
      if (point.to === null) pieces.push([]);
      else pieces[pieces.length - 1].push(point);
    }
    return pieces.filter((piece) => piece.length > 0);
  }

  pen(series, width) {
    this.context.strokeStyle = this.colour(series);
    this.context.lineWidth = width * this.ratio;
    this.context.setLineDash(series.dash.map((length) => length * this.ratio));
  }

  line(series) {
    const { context, layout } = this;
    if (layout.spec.kind === "lines") {
      this.pen(series, 2);
      for (const piece of this.pieces(series.points)) {
        path(context, piece.map((point) => [this.x(point.place), this.y(point.to)]));
        context.stroke();
      }
    }
    series.points.forEach((point) => this.whisker(series, point, this.x(point.place + point.shift)));
  }

  // A fit has no markers, and where there are very many they hide the line; but one alone has no line.
  markers(series) {
    const { context, layout } = this;
    const isBare = layout.spec.kind === "lines" && (!series.marked || series.points.length > 150);
    const marked = isBare ? this.pieces(series.points).filter((piece) => piece.length === 1).flat() : series.points;
    context.save();
    marked.forEach((point) => this.point(series, point));
    context.restore();
  }

  // Those at the edge are whole, and those beyond it are not there.
  isInside(x, y) {
    const { left, top, width } = this.plot.bbox;
    return x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= this.bottom + 1;
  }

  point(series, point) {
    if (point.to === null) return;
    const { context, ratio, layout } = this;
    context.setLineDash([]);
    context.lineWidth = 1.5 * ratio;
    const colour = this.colour(series);
    const isOff = layout.spec.y.logarithmic && point.to <= 0;
    const fill = series.hollow || isOff ? this.theme.page : colour;
    const shape = isOff ? "arrow" : series.marker;
    const [x, y] = [this.x(point.place + point.shift), isOff ? this.bottom - 6 * ratio : this.y(point.to)];
    if (this.isInside(x, y)) drawMarker(context, shape, x, y, 3.6 * ratio, colour, fill);
  }

  whisker(series, point, x) {
    if (!point.interval || point.to === null) return;
    const { context, ratio } = this;
    const [low, high] = point.interval.map((end) => this.y(point.from + end));
    const cap = 4 * ratio;
    context.setLineDash([]);
    context.lineWidth = 1.25 * ratio;
    context.strokeStyle = isBars(this.layout.spec) || isStacked(this.layout.spec) ? this.theme.text : this.colour(series);
    context.beginPath();
    context.moveTo(x, low);
    context.lineTo(x, high);
    for (const end of [low, high]) {
      context.moveTo(x - cap, end);
      context.lineTo(x + cap, end);
    }
    context.stroke();
  }

  fill(series) {
    const { context } = this;
    context.fillStyle = series.hatched ? hatch(context, this.colour(series), this.ratio) : this.colour(series);
    context.fill();
  }

  areas(shown) {
    shown.forEach(({ series }) => this.area(series));
    shown.forEach(({ series }) => series.points.forEach((point) => this.whisker(series, point, this.x(point.place))));
  }

  area(series) {
    const { context, ratio } = this;
    for (const piece of this.pieces(series.points)) {
      const upper = piece.map((point) => [this.x(point.place), this.y(point.to)]);
      const lower = piece.map((point) => [this.x(point.place), this.y(point.from)]);
      if (piece.length === 1) {
        // A single known point has no area; it stays to be seen as an upright line.
        path(context, [upper[0], lower[0]]);
        this.pen({ ...series, dash: [] }, 3);
        context.stroke();
        continue;
      }
      path(context, [...upper, ...lower.reverse()]);
      context.closePath();
      context.globalAlpha = 0.85;
      this.fill(series);
      context.globalAlpha = 1;
      // The edge keeps layers of like colours apart.
      path(context, upper);
      context.setLineDash([]);
      context.strokeStyle = this.theme.page;
      context.lineWidth = 1.5 * ratio;
      context.stroke();
    }
  }

  bars(shown) {
    const areStacked = isStacked(this.layout.spec);
    const width = barWidth(this.x(1) - this.x(0), shown.length, areStacked, this.ratio);
    const each = (draw) => shown.forEach(({ series }, nth) => {
      const shift = areStacked ? 0 : barShift(nth, shown.length, width);
      series.points.filter((point) => point.to !== null).forEach((point) => draw(series, point, this.x(point.place) + shift));
    });
    each((series, point, middle) => {
      if (!series.total) this.bar(series, point, middle, areStacked ? width : width * 0.9);
    });
    // In front of all bars, so that no layer hides the interval of the one below.
    each((series, point, middle) => this.whisker(series, point, middle));
  }

  bar(series, point, middle, width) {
    const { context, ratio } = this;
    const [from, to] = [this.layout.spec.y.logarithmic ? this.bottom : this.y(point.from), this.y(point.to)];
    context.beginPath();
    context.rect(middle - width / 2, Math.min(from, to), width, Math.abs(to - from));
    context.setLineDash([]);
    context.lineWidth = ratio;
    if (series.hollow) {
      context.strokeStyle = this.colour(series);
      context.lineWidth = 2 * ratio;
      context.stroke();
      return;
    }
    this.fill(series);
    context.strokeStyle = isStacked(this.layout.spec) ? this.theme.page : this.colour(series);
    context.stroke();
  }

  mark(mark) {
    const { context, ratio, plot } = this;
    const { left, top, width } = plot.bbox;
    context.setLineDash([6 * ratio, 4 * ratio]);
    context.lineWidth = 1.25 * ratio;
    context.strokeStyle = this.theme.muted;
    let at;
    if (mark.x !== undefined) {
      const x = this.x(this.layout.place(mark.x));
      path(context, [[x, top], [x, this.bottom]]);
      const isLeft = x > left + width * 0.7;
      at = [x + (isLeft ? -5 : 5) * ratio, top + 14 * ratio, isLeft ? "right" : "left"];
    } else if (mark.y !== undefined) {
      const y = this.y(mark.y);
      path(context, [[left, y], [left + width, y]]);
      at = [left + width - 5 * ratio, y < top + 18 * ratio ? y + 14 * ratio : y - 5 * ratio, "right"];
    } else {
      const points = mark.curve.map(([x, y]) => [this.x(this.layout.place(x)), this.y(y)]);
      path(context, points);
      const inside = points.filter(([x, y]) => x >= left && x <= left + width && y >= top && y <= this.bottom);
      const [x, y] = inside[Math.floor(inside.length / 2)] || [left, -99];
      at = [x + 6 * ratio, y - 6 * ratio, x > left + width * 0.7 ? "right" : "left"];
    }
    context.stroke();
    this.label(mark.label, ...at);
  }

  label(text, x, wanted, align) {
    const { context, ratio, theme, plot } = this;
    context.setLineDash([]);
    context.font = `${12 * ratio}px ${theme.font}`;
    const { width } = context.measureText(text);
    const isCut = align === "left" && x + width > plot.bbox.left + plot.bbox.width;
    context.textAlign = isCut ? "right" : align;
    const left = context.textAlign === "right" ? x - width : x;
    // Marks that are close have their labels one below the other.
    const height = 15 * ratio;
    const isTaken = (at) => this.labels.some((one) => Math.abs(one.y - at) < height && one.left < left + width && left < one.left + one.width);
    let y = wanted;
    while (isTaken(y)) y += height;
    this.labels.push({ left, width, y });
    context.textBaseline = "alphabetic";
    context.lineWidth = 4 * ratio;
    context.strokeStyle = theme.page;
    context.strokeText(text, x, y);
    context.fillStyle = theme.muted;
    context.fillText(text, x, y);
  }
}
