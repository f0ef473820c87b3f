// Tables: rows in the order of a column, rows that have some words, and the exact value of a rounded figure.

// From so many rows on, a table can be filtered.
const LONG = 20;
const UNKNOWN = "unknown";

function separated(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

// A number without `data-value` is exact as it is shown.
function fieldValue(row, nth) {
  const cell = row.cells[nth];
  const text = cell.textContent.trim();
  if (cell.dataset.value !== undefined) return { number: cell.dataset.value };
  return cell.className === "n" ? { number: text.replaceAll(",", "") } : { number: null, text };
}

// Counts beyond 2^53 are compared digit by digit.
function compareNumbers(a, b) {
  const difference = Number(a) - Number(b);
  if (difference !== 0 || a === b) return difference;
  const areWhole = /^-?\d+$/.test(a) && /^-?\d+$/.test(b);
  return areWhole && BigInt(a) !== BigInt(b) ? (BigInt(a) < BigInt(b) ? -1 : 1) : 0;
}

// Numbers come before words; what is unknown or empty comes last in either direction.
function compareFields(a, b, direction) {
  const rank = (field) => (field.number !== null ? 0 : field.text === "" || field.text === UNKNOWN ? 2 : 1);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (rank(a) === 0) return direction * compareNumbers(a.number, b.number);
  if (rank(a) === 1) return direction * a.text.localeCompare(b.text, "en", { numeric: true });
  return 0;
}

const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

function sortTable(table, rows, heads, nth) {
  const order = NEXT[heads[nth].getAttribute("aria-sort")];
  heads.forEach((head, at) => {
    if (head.hasAttribute("aria-sort")) head.setAttribute("aria-sort", at === nth ? order : "none");
  });
  let sorted = rows;
  if (order !== "none") {
    const direction = order === "ascending" ? 1 : -1;
    // Sorting keeps the order of equals, and always starts from the report's own.
    sorted = rows
      .map((row) => ({ row, field: fieldValue(row, nth) }))
      .sort((a, b) => compareFields(a.field, b.field, direction))
      .map(({ row }) => row);
  }
  table.tBodies[0].append(...sorted);
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 2) return;
  heads.forEach((head, nth) => {
    if (head.classList.contains("fixed")) return;
    const name = head.querySelector(".head");
    const button = make("button", "", ...name.childNodes);
    button.type = "button";
    name.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sortTable(table, rows, heads, nth));
  });
}

function makeFilterable(table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < LONG) return;
  const textOf = (row) => [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
  // Gathered when the first word is typed, and not while the page opens.
  let texts = null;
  const input = make("input");
  input.type = "search";
  const shown = make("output", "", `${separated(`${rows.length}`)} rows`);
  input.addEventListener("input", () => {
    texts ??= rows.map(textOf);
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, nth) => {
      row.hidden = !words.every((word) => texts[nth].includes(word));
      if (!row.hidden) count += 1;
    });
    const all = `${separated(`${rows.length}`)} rows`;
    shown.textContent = words.length === 0 ? all : `${separated(`${count}`)} of ${all}`;
  });
  const box = table.closest(".box");
  box.before(make("div", "filter", make("label", "", "Rows with the words ", input), shown));
}

// The exact value of a rounded number, where the pointer rests on it.
function showExact(event) {
  const cell = event.target.closest && event.target.closest("td[data-value], th[data-value]");
  if (!cell || cell.title) return;
  const { value } = cell.dataset;
  if (cell.textContent.replaceAll(",", "") === value) return;
  const { unit } = cell.closest("table").tHead.rows[0].cells[cell.cellIndex].dataset;
  cell.title = unit ? `${value} ${unit}` : value;
}

function prepareTables() {
  for (const table of document.querySelectorAll("table")) {
    makeSortable(table);
    makeFilterable(table);
  }
  document.addEventListener("mouseover", showExact);
}
