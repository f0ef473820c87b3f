// Puts the page to work: tables and charts, and what is folded for the printer.

const KEYS =
  "Left and right go through the places, up and down through the points of one, Enter goes to the trial, " +
  "Escape lets go of values that a click keeps.";

function prepareCharts() {
  const keys = make("p", "quiet", KEYS);
  keys.id = "chart-keys";
  document.body.append(keys);
  document.querySelectorAll("figure.chart").forEach((figure) => new Chart(figure));
}

// On paper nothing can be unfolded.
function unfoldForPaper() {
  const opened = new Set();
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll(".evidence details:not([open])")) {
      opened.add(details);
      details.open = true;
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    opened.clear();
  });
}

watchEvidence();
prepareTables();
prepareCharts();
unfoldForPaper();
