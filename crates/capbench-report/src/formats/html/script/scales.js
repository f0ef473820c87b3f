// Axes: which unit they are labelled in, where their ticks are and what stands at them.

// Units that an axis may be scaled to, the largest first: factor, symbol, and how many of it there must be.
const SCALED = {
  packets_per_second: [[1e9, "Gpps"], [1e6, "Mpps"], [1e3, "kpps"], [1, "packets/s"]],
  bits_per_second_l1: [[1e9, "Gbit/s (L1)"], [1e6, "Mbit/s (L1)"], [1e3, "kbit/s (L1)"], [1, "bit/s (L1)"]],
  bits_per_second_l2: [[1e9, "Gbit/s (L2)"], [1e6, "Mbit/s (L2)"], [1e3, "kbit/s (L2)"], [1, "bit/s (L2)"]],
  nanoseconds: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  nanoseconds_per_packet: [[1e6, "ms/packet", 10], [1e3, "µs/packet", 10], [1, "ns/packet"]],
  seconds: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
  bytes: [[2 ** 30, "GiB", 1], [2 ** 20, "MiB", 1], [2 ** 10, "KiB", 64], [1, "bytes"]],
  ratio: [[0.01, "%"]],
  per_second: [[1e6, "million/s"], [1e3, "thousand/s", 10], [1, "1/s"]],
  count: [[1e9, "billions"], [1e6, "millions"], [1e3, "thousands", 10], [1, ""]],
  iterations: [[1e6, "million iterations"], [1e3, "thousand iterations", 10], [1, "iterations"]],
  cores: [[1, "cores"]],
  none: [[1, ""]],
};

// Things counted are not scaled on a logarithmic axis: 1, 10 and 100 say more than a thousandth of a thousand.
function scaleOf({ unit, symbol: plain, logarithmic }, largest) {
  if (logarithmic && (unit === "count" || unit === "iterations")) return { factor: 1, symbol: plain };
  const steps = SCALED[unit] || SCALED.none;
  const [factor, symbol] = steps.find(([size, , least = 1]) => largest >= size * least * 0.999) || steps[steps.length - 1];
  return { factor, symbol };
}

function axisLabel(axis, scale) {
  const symbol = axis.names ? "" : scale.symbol;
  return symbol === "" ? axis.label : `${axis.label} (${symbol})`;
}

// The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 2.5, 5, 10].map((times) => times * power).find((step) => step >= least * 0.9999);
}

// About so many ticks, at round numbers of the scaled unit.
function evenTicks(min, max, count, factor, isWhole) {
  let step = niceStep((max - min) / factor / Math.max(1, count));
  if (isWhole) step = Math.max(1, Math.ceil(step));
  const ticks = [];
  for (let nth = Math.ceil(min / factor / step - 1e-9); nth * step * factor <= max * (1 + 1e-12) + 1e-300; nth += 1) {
    ticks.push(nth * step * factor);
    if (ticks.length > 100) break;
  }
  return ticks;
}

// Powers of the base; between them 2 and 5 where few powers are seen, and every so many where they are too many.
function logarithmicTicks(min, max, count, base) {
  const [low, last] = [Math.floor(Math.log(min) / Math.log(base)), Math.ceil(Math.log(max) / Math.log(base))];
  const stride = Math.max(1, Math.ceil((last - low) / Math.max(1, count)));
  const first = Math.floor(low / stride) * stride;
  const between = base === 10 && last - first <= 3 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = first; power <= last; power += stride) {
    for (const times of between) {
      const tick = times * base ** power;
      if (tick >= min * 0.9999 && tick <= max * 1.0001) ticks.push(tick);
    }
  }
  return ticks;
}

function ticks(axis, min, max, count, scale) {
  if (axis.logarithmic) {
    const base = axis.unit === "bytes" ? 2 : 10;
    const found = logarithmicTicks(min, max, count, base);
    // Within little more than a power there is nothing to divide by powers.
    if (found.length >= 3 || max / min > base ** 1.5) return found;
    return evenTicks(min, max, count, scale.factor, false).filter((tick) => tick > 0);
  }
  return evenTicks(min, max, count, scale.factor, axis.unit === "count");
}

// What stands at a tick, with just the decimals that tell it from its neighbours.
function tickText(tick, all, axis, scale) {
  const value = tick / scale.factor;
  if (axis.logarithmic) return (value < 0 ? "-" : "") + rounded(Math.abs(value));
  const step = all.length > 1 ? (all[1] - all[0]) / scale.factor : value || 1;
  let decimals = 0;
  while (decimals < 9 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals += 1;
  const [whole, rest] = Math.abs(value).toFixed(decimals).split(".");
  return (value < 0 ? "-" : "") + separated(whole) + (rest ? `.${rest}` : "");
}
