// Where the points of a chart lie: places on the horizontal axis, layers on top of each other, and the range of both axes.

const isStacked = (spec) => spec.kind === "stacked" || spec.kind === "stacked_bars";
const isBars = (spec) => spec.kind === "bars" || spec.kind === "stacked_bars";

// Names, and the places of bars, stand evenly, one after the other; `names` of the layout is then what they are called.
// On a logarithmic axis 0 has no place of its own: it gets one left of all others, `zero`.
function layOut(spec) {
  const layout = { spec, names: null, zero: null, series: [] };
  let place = (x) => x;
  if (spec.x.names) {
    layout.names = spec.x.names;
  } else if (isBars(spec)) {
    const found = [...new Set(spec.series.flatMap((series) => series.x))].sort((a, b) => a - b);
    const nth = new Map(found.map((x, at) => [x, at]));
    layout.names = found.map((x) => quantity(x, spec.x));
    place = (x) => (nth.has(x) ? nth.get(x) : between(found, x));
  }
  const all = spec.series.flatMap((series) => series.x);
  if (!layout.names && spec.x.logarithmic && all.some((x) => x <= 0)) {
    const [low, high] = extent(all.filter((x) => x > 0));
    layout.zero = Number.isFinite(low) ? low / Math.max(2, (high / low) ** 0.1) : 1;
    place = (x) => (x > 0 ? x : layout.zero);
  }
  layout.place = place;
  layout.series = spec.series.map((series) => ({
    ...series,
    points: series.x.map((x, at) => ({
      x,
      place: place(x),
      y: series.y[at],
      interval: series.intervals[at] || null,
      trials: series.trials[at],
      from: 0,
      to: series.y[at],
      shift: 0,
    })),
  }));
  // Repeats of several series at one name stand beside each other, unless the report has given them places of their own.
  if (spec.kind === "points" && layout.names && all.every(Number.isInteger)) {
    const width = Math.min(0.6 / layout.series.length, 0.16);
    layout.series.forEach((series, nth) => series.points.forEach((point) => {
      point.shift = (nth - (layout.series.length - 1) / 2) * width;
    }));
  }
  return layout;
}

// The place of a mark that lies between two bars.
function between(found, x) {
  const after = found.findIndex((one) => one > x);
  if (after <= 0) return after === 0 ? -0.5 : found.length - 0.5;
  return after - 1 + (x - found[after - 1]) / (found[after] - found[after - 1]);
}

// Gives each point of the visible series the ends of its layer. What is below 0 is stacked downwards. A point that is unknown
// has no layer, and those above it lie on what is known.
function stack(layout, hidden) {
  if (!isStacked(layout.spec)) return;
  const above = new Map();
  const below = new Map();
  layout.series.forEach((series, nth) => {
    // A sum lies on the layers and is none.
    if (hidden.has(nth) || series.total) return;
    for (const point of series.points) {
      const ends = point.y !== null && point.y < 0 ? below : above;
      point.from = ends.get(point.place) || 0;
      point.to = point.y === null ? null : point.from + point.y;
      if (point.y !== null) ends.set(point.place, point.to);
    }
  });
}

// What is seen of a chart: each visible point, with its series.
function visible(layout, hidden, range) {
  const found = [];
  layout.series.forEach((series, nth) => {
    if (hidden.has(nth)) return;
    for (const point of series.points) {
      if (!range || (point.place >= range[0] && point.place <= range[1])) found.push({ nth, series, point });
    }
  });
  return found;
}

function withMargin(low, high, isLogarithmic, share) {
  if (isLogarithmic) {
    const margin = Math.max(high / low, 1.2) ** share;
    return [low / margin, high * margin];
  }
  const margin = (high - low || Math.abs(high) || 1) * share;
  return [low - margin, high + margin];
}

function rangeOfX(layout, hidden) {
  if (layout.names) return [-0.6, layout.names.length - 0.4];
  const { logarithmic } = layout.spec.x;
  const usable = (x) => !logarithmic || x > 0;
  let all = visible(layout, hidden).map(({ point }) => point.place).filter(usable);
  if (all.length === 0) all = logarithmic ? [1, 10] : [0, 1];
  let [low, high] = extent(all);
  for (const mark of layout.spec.marks) {
    // A limit near the points belongs to them; one far away would press them together.
    const isNear = mark.x !== undefined && usable(mark.x) && mark.x <= high * 1.5 && mark.x >= low / 2;
    if (isNear) [low, high] = [Math.min(low, mark.x), Math.max(high, mark.x)];
  }
  return withMargin(low, high, logarithmic, 0.03);
}

// Of what is seen between two places. Even axes begin at 0, so that lengths can be compared.
function rangeOfY(layout, hidden, range) {
  const { spec } = layout;
  const { logarithmic } = spec.y;
  const values = [];
  for (const { point } of visible(layout, hidden, range)) {
    if (point.to === null) continue;
    values.push(point.to);
    if (isStacked(spec)) values.push(point.from);
    if (point.interval) values.push(...point.interval.map((end) => point.from + end));
  }
  const usable = logarithmic ? values.filter((value) => value > 0) : values;
  if (usable.length === 0) return logarithmic ? [1, 10] : [0, 1];
  let [low, high] = extent(usable);
  const reach = logarithmic ? 100 : 2;
  for (const value of markHeights(layout, range)) {
    if (value > 0 && value <= high * reach && (!logarithmic || value >= low / reach)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  if (logarithmic) {
    const [from, to] = withMargin(low, high, true, 0.06);
    // Below the least there is room for those that are 0.
    return [usable.length < values.length ? from / (to / from) ** 0.06 : from, to];
  }
  const margin = (Math.max(high, 0) - Math.min(low, 0) || 1) * 0.06;
  return [low < 0 ? low - margin : 0, high > 0 ? high + margin : 0];
}

function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

function markHeights(layout, range) {
  return layout.spec.marks.flatMap((mark) => {
    if (mark.y !== undefined) return [mark.y];
    if (!mark.curve) return [];
    const isSeen = (x) => !range || (layout.place(x) >= range[0] && layout.place(x) <= range[1]);
    return mark.curve.filter(([x]) => isSeen(x)).map(([, y]) => y);
  });
}
