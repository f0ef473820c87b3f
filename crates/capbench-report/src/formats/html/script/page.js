// Puts the page to work: tables at once, a chart when it comes near the window, and all of them before printing.

const KEYS =
  "Left and right go through the places, up and down through the points of one, plus and minus zoom, " +
  "Enter goes to the trial, Escape shows everything again.";

function prepareCharts() {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const hosts = [...document.querySelectorAll(".plot")];
  const charts = new Map();
  const draw = (host) => {
    if (!charts.has(host)) charts.set(host, new Chart(host, specs[Number(host.dataset.chart)]));
    return charts.get(host);
  };
  const keys = make("p", "quiet", KEYS);
  keys.id = "chart-keys";
  document.body.append(keys);

  const watch = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      draw(target);
    }
  }, { rootMargin: "400px" });
  hosts.forEach((host) => watch.observe(host));

  document.addEventListener("themechange", () => charts.forEach((chart) => chart.recolour()));
  printInLight(() => hosts.map(draw));
}

// Paper is white: every chart is drawn, in light colours and as wide as the paper, and afterwards as before.
function printInLight(all) {
  const root = document.documentElement;
  const folded = document.querySelectorAll(".evidence details");
  const opened = new Set();
  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    for (const details of folded) {
      if (!details.open) opened.add(details);
      details.open = true;
    }
    all().forEach((chart) => chart.print(true));
  });
  window.addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    for (const details of opened) details.open = false;
    opened.clear();
    all().forEach((chart) => chart.print(false));
  });
}

watchEvidence();
prepareTables();
prepareCharts();
