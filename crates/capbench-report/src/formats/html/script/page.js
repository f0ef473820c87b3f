// Starts the scripts of tables, charts and links.

const KEYS =
  "Left and right go through the places, up and down through the points of one, Enter goes to the trial, " +
  "Escape lets go of values that a click keeps.";

function prepareCharts() {
  const keys = make("p", "quiet", KEYS);
  keys.id = "chart-keys";
  document.body.append(keys);
  document.querySelectorAll("figure.chart").forEach((figure) => new Chart(figure));
}

// A link to something that is folded opens what it is in.
function unfoldTargets() {
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target?.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);
  unfold();
}

watchEvidence();
prepareTables();
prepareCharts();
unfoldTargets();
