// Numbers for people, written as `figures.rs` writes them, so that a value under the pointer reads like that of a table.

const UNKNOWN = "unknown";

// With so many decimals. Halves go to the even neighbour, as in Rust; toFixed alone takes them up.
function fixed(value, decimals) {
  const text = value.toFixed(decimals);
  if (value >= 1e21) return text;
  const exact = value.toFixed(Math.min(100, decimals + 30));
  const cut = exact.indexOf(".") + (decimals > 0 ? 1 + decimals : 0);
  const below = exact.slice(0, cut);
  const isHalf = /^\.?50*$/.test(exact.slice(cut));
  return isHalf && "02468".includes(below[below.length - 1]) ? below : text;
}

function separated(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

function significant(value, digits) {
  if (value === 0) return "0";
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(value)));
  if (decimals > 9) return value.toExponential(1);
  const text = fixed(value, decimals);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

function rounded(value) {
  return value >= 1000 ? separated(fixed(value, 0)) : significant(value, 4);
}

// A share in percent that is 0 or 100 only where nothing, or everything, is meant.
function percent(value) {
  if (value > 99 && value < 100) {
    const missing = significant(100 - value, 2);
    const point = missing.indexOf(".");
    return fixed(value, point < 0 ? 0 : missing.length - point - 1);
  }
  return value >= 1000 ? separated(fixed(value, 0)) : significant(value, 3);
}

// A number in its unit, without the unit's symbol; null is unknown.
function number(value, unit) {
  if (value === null || !Number.isFinite(value)) return UNKNOWN;
  const sign = value < 0 ? "-" : "";
  const size = Math.abs(value);
  return sign + (unit === "ratio" ? percent(size * 100) : rounded(size));
}

// The same with its unit.
function quantity(value, axis) {
  const text = number(value, axis.unit);
  return value === null || axis.symbol === "" ? text : `${text} ${axis.symbol}`;
}
