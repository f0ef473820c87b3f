// Trials that figures rest on: their rows highlighted together.

// An element with a class and children, which are elements or text; text stays text, also where it looks like HTML.
function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
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
