// What is read of a chart: the values at the pointer, or where the keys went. Its points are the rows of its table, and each row
// says where in the drawing it is.

const SVG = "http://www.w3.org/2000/svg";

function shape(name, className) {
  const element = document.createElementNS(SVG, name);
  element.setAttribute("class", className);
  return element;
}

// A row of the table: the number of its series, its place on the horizontal axis, where it is, and its words.
function pointOf(row, keys, units) {
  const [series, place, x = null, top = null, bottom = null] = row.dataset.spot.split(" ").map(Number);
  const text = (key) => (keys.includes(key) ? row.cells[keys.indexOf(key)].textContent : "");
  const withUnit = (key) => (units[key] && text(key) !== UNKNOWN ? `${text(key)} ${units[key]}` : text(key));
  return {
    series, place, x, top, bottom,
    where: withUnit("place"),
    name: text("series"),
    value: withUnit("value"),
    exact: row.cells[keys.indexOf("value")].dataset.value ?? "",
    interval: top !== null && text("from") ? `${text("from")} to ${text("to")}` : "",
    evidence: row.querySelector(".evidence"),
  };
}

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.canvas = figure.querySelector(".canvas");
    this.svg = this.canvas.querySelector("svg");
    this.hidden = new Set();
    this.at = null;
    this.isPinned = false;
    const { x, y, width, height } = this.svg.querySelector(".area").getBBox();
    this.area = { left: x, top: y, right: x + width, bottom: y + height };
    const table = figure.querySelector(".figures table");
    const heads = [...table.tHead.rows[0].cells].filter((head) => head.dataset.key);
    const units = Object.fromEntries(heads.map((head) => [head.dataset.key, head.querySelector(".unit")?.textContent]));
    this.label = heads[0].querySelector(".head").textContent;
    this.points = [...table.tBodies[0].rows].map((row) => pointOf(row, heads.map((head) => head.dataset.key), units));
    this.prepare();
    this.listen();
  }

  prepare() {
    this.where = make("p", "at", "Click to keep the values that the pointer shows");
    this.live = make("p", "quiet");
    this.live.setAttribute("aria-live", "polite");
    this.canvas.before(this.where);
    this.figure.append(this.live);
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "chart");
    this.canvas.setAttribute("aria-labelledby", this.svg.getAttribute("aria-labelledby"));
    this.canvas.setAttribute("aria-describedby", "chart-keys");
    this.tip = make("div", "tip");
    this.tip.setAttribute("aria-hidden", "true");
    this.tip.hidden = true;
    this.canvas.append(this.tip);
    this.cursor = shape("g", "cursor");
    this.svg.append(this.cursor);
    this.entries = [...this.figure.querySelectorAll(".legend li")].map((item, nth) => this.entry(item, nth));
  }

  entry(item, nth) {
    const button = make("button", "", ...item.childNodes);
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    const [value, from] = [make("span", "value"), make("span", "from")];
    item.append(button, " ", value, from);
    button.addEventListener("click", () => button.setAttribute("aria-pressed", `${this.toggle(nth)}`));
    return { item, value, from, sample: button.querySelector("svg") };
  }

  toggle(nth) {
    const isShown = this.hidden.delete(nth);
    if (!isShown) this.hidden.add(nth);
    this.svg.querySelectorAll(`.s${nth}`).forEach((group) => group.classList.toggle("off", !isShown));
    if (this.at) this.go(this.at.place, this.at);
    return isShown;
  }

  visible() {
    return this.points.filter(({ series }) => !this.hidden.has(series));
  }

  places() {
    return [...new Set(this.visible().map(({ place }) => place))].sort((a, b) => a - b);
  }

  // How far a point is from here; its bar or layer may be high.
  distance(point, left, top) {
    if (point.x === null) return Infinity;
    return Math.hypot(left - point.x, Math.max(point.top - top, top - point.bottom, 0));
  }

  // Of each series the point of this place that is nearest, and of these the nearest. What was drawn later is in front.
  reading(place, left, top) {
    const nearest = new Map();
    for (const point of this.visible()) {
      if (point.place !== place) continue;
      const other = nearest.get(point.series);
      if (!other || this.distance(point, left, top) < this.distance(other, left, top)) nearest.set(point.series, point);
    }
    const points = [...nearest.values()];
    const focus = points.reduce((best, point) => (this.distance(point, left, top) <= this.distance(best, left, top) ? point : best), points[0]);
    return { points, focus };
  }

  // Where the pointer is in the drawing.
  pointer(event) {
    const { left, top, width } = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.width / width;
    return [(event.clientX - left) * scale, (event.clientY - top) * scale];
  }

  isInside(left, top) {
    const { area } = this;
    return left >= area.left && left <= area.right && top >= area.top && top <= area.bottom;
  }

  pointed(event) {
    const [left, top] = this.pointer(event);
    const places = this.places();
    if (this.isPinned || places.length === 0) return;
    if (!this.isInside(left, top)) {
      this.tip.hidden = true;
      return;
    }
    const place = places.reduce((nearest, one) => (Math.abs(one - left) < Math.abs(nearest - left) ? one : nearest));
    const reading = this.reading(place, left, top);
    this.show(reading);
    this.showTip(reading, event);
  }

  // Goes to a place without the pointer, and there to a point, if there is one. It may be of a series that is switched off.
  go(place, wanted) {
    this.tip.hidden = true;
    const here = this.visible().filter((point) => point.place === place);
    const start = here.includes(wanted) ? wanted : here[0];
    if (!start) {
      this.clear();
      return null;
    }
    const reading = this.reading(place, start.x ?? 0, start.top ?? 0);
    if (start === wanted) {
      reading.points = reading.points.map((point) => (point.series === wanted.series ? wanted : point));
      reading.focus = wanted;
    }
    this.show(reading);
    return reading;
  }

  step(by) {
    const places = this.places();
    if (places.length === 0) return;
    const now = this.at ? places.indexOf(this.at.place) : -1;
    const next = Math.max(0, Math.min(places.length - 1, now < 0 && by === -1 ? places.length - 1 : now + by));
    const reading = this.go(places[next]);
    this.announce(reading.focus, reading.points.length <= 6 ? reading.points : []);
  }

  // Through the points of a place, from the lowest upwards.
  climb(by) {
    if (!this.at) return this.step(1);
    const here = this.visible().filter(({ place }) => place === this.at.place);
    const height = ({ top }) => (top === null ? -Infinity : -top);
    here.sort((a, b) => height(a) - height(b));
    const next = here[Math.max(0, Math.min(here.length - 1, here.indexOf(this.at) + by))];
    this.go(this.at.place, next);
    return this.announce(next, []);
  }

  pin(isPinned) {
    this.isPinned = isPinned;
    if (this.at) this.go(this.at.place, this.at);
  }

  openTrial() {
    const link = this.at?.evidence?.querySelector("a");
    if (!link) return;
    cite(this.at.evidence.dataset.trials.split(" "));
    location.hash = link.hash;
  }

  // The values at a place: of each series the point that is read there, and which of them the reader is at.
  show({ points, focus }) {
    this.at = focus;
    const read = new Map(points.map((point) => [point.series, point]));
    this.figure.querySelector(".legend").classList.add("read");
    this.where.replaceChildren(`${this.label} `, make("strong", "", focus.where), this.isPinned ? " (kept; click or Escape lets go)" : "");
    this.entries.forEach(({ item, value, from }, nth) => {
      const point = read.get(nth);
      item.classList.toggle("focus", focus.series === nth);
      value.textContent = point?.value ?? "";
      value.title = point?.exact ?? "";
      from.replaceChildren();
      if (!point) return;
      const evidence = point.evidence?.cloneNode(true) ?? "";
      from.append(point.interval + (point.interval && evidence ? "; " : ""), evidence);
    });
    this.showCursor(points, focus.place);
  }

  clear() {
    this.at = null;
    this.where.textContent = "";
    this.entries.forEach(({ item, value, from }) => {
      item.classList.remove("focus");
      value.textContent = "";
      from.replaceChildren();
    });
    this.cursor.replaceChildren();
  }

  announce(focus, all) {
    const said = ({ name, value, interval, evidence }) => {
      const trials = (evidence?.querySelector("summary") ?? evidence)?.textContent;
      return [`${name}: ${value}`, interval, trials].filter(Boolean).join(", ");
    };
    const others = all.filter((point) => point !== focus);
    this.live.textContent = `${this.label} ${focus.where}. ${[focus, ...others].map(said).join("; ")}`;
  }

  // An upright line at the place, and a dot on each point; bars are wide enough to be seen without.
  showCursor(points, place) {
    const line = shape("line", "cross");
    const ends = { x1: place, x2: place, y1: this.area.top, y2: this.area.bottom };
    Object.entries(ends).forEach(([name, value]) => line.setAttribute(name, value));
    const dotted = this.canvas.classList.contains("dotted") ? points.filter(({ x }) => x !== null) : [];
    const dots = dotted.map(({ x, top }) => {
      const dot = shape("circle", "dot");
      Object.entries({ cx: x, cy: top, r: 5 }).forEach(([name, value]) => dot.setAttribute(name, value));
      return dot;
    });
    this.cursor.replaceChildren(line, ...dots);
  }

  // Next to the pointer and the line, and inside of what is seen of the chart.
  showTip({ points, focus }, event) {
    const rows = points.map((point) => {
      const sample = this.entries[point.series].sample.cloneNode(true);
      return make("div", point === focus ? "focus" : "", sample, make("span", "", `${point.name}: ${point.value}`));
    });
    const trials = (focus.evidence?.querySelector("summary") ?? focus.evidence)?.textContent ?? "";
    this.tip.replaceChildren(make("div", "", make("strong", "", focus.where)), ...rows, make("div", "", trials));
    this.tip.hidden = false;
    const frame = this.canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - frame.left, event.clientY - frame.top];
    const line = this.cursor.firstChild.getBoundingClientRect().left - frame.left;
    const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const behind = Math.max(left, line) + 16;
    const x = behind + width > frame.width ? Math.max(0, Math.min(left, line) - 16 - width) : behind;
    const y = Math.max(0, Math.min(top - height / 2, frame.height - height));
    this.tip.style.transform = `translate(${x + this.canvas.scrollLeft}px, ${y}px)`;
  }

  listen() {
    const keys = {
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      ArrowUp: () => this.climb(1),
      ArrowDown: () => this.climb(-1),
      Home: () => this.step(-Infinity),
      End: () => this.step(Infinity),
      Escape: () => this.pin(false),
      Enter: () => this.openTrial(),
    };
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.svg.addEventListener("mousemove", (event) => this.pointed(event));
    this.svg.addEventListener("mouseleave", () => { this.tip.hidden = true; });
    this.svg.addEventListener("click", (event) => {
      if (this.isInside(...this.pointer(event))) this.pin(!this.isPinned);
    });
  }
}
