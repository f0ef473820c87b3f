// Trials that figures rest on: links to their rows, and the rows highlighted together.

// An element with a class and children, which are elements or text; text stays text whatever is in it.
function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

// Three neighbours or more become one run.
function runs(trials) {
  const found = [];
  for (const trial of [...new Set(trials)].sort((a, b) => a - b)) {
    const last = found[found.length - 1];
    if (last && last[1] + 1 === trial) last[1] = trial;
    else found.push([trial, trial]);
  }
  return found.flatMap(([first, last]) => (last === first + 1 ? [[first, first], [last, last]] : [[first, last]]));
}

function trialsInWords(trials) {
  if (trials.length === 0) return "";
  const parts = runs(trials).map(([first, last]) => (first === last ? `${first}` : `${first} to ${last}`));
  return `trial${trials.length > 1 ? "s" : ""} ${parts.join(", ")}`;
}

function evidence(trials) {
  const span = make("span", "evidence");
  if (trials.length === 0) return span;
  span.dataset.trials = trials.join(" ");
  span.append(trials.length > 1 ? "trials " : "trial ");
  runs(trials).forEach(([first, last], nth) => {
    const text = first === last ? `${first}` : `${first} to ${last}`;
    if (nth > 0) span.append(", ");
    if (!document.getElementById(`trial-${first}`)) {
      span.append(text);
      return;
    }
    const link = make("a", "", text);
    link.href = `#trial-${first}`;
    span.append(link);
  });
  return span;
}

// A row that is filtered out comes back with the others.
function reveal(row) {
  if (!row.hidden) return;
  const input = row.closest(".table").querySelector(".filter input");
  input.value = "";
  input.dispatchEvent(new Event("input"));
}

function cite(trials) {
  document.querySelectorAll("tr.cited").forEach((row) => row.classList.remove("cited"));
  for (const trial of trials) {
    const row = document.getElementById(`trial-${trial}`);
    if (!row) continue;
    reveal(row);
    row.classList.add("cited");
  }
}

function watchEvidence() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#trial-']");
    const from = link && link.closest("[data-trials]");
    if (from) cite(from.dataset.trials.split(" "));
  });
  window.addEventListener("hashchange", () => {
    const row = document.querySelector("tr:target");
    if (!row || !row.hidden) return;
    reveal(row);
    row.scrollIntoView();
  });
}
