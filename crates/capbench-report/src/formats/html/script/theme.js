// Which colours the page has: the system's, until the reader chooses. The choice is kept where the browser allows it.
(function () {
  "use strict";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  root.classList.add("scripted");

  // Pages that were opened from a file may have no storage.
  function stored(change) {
    try {
      return change(localStorage);
    } catch {
      return null;
    }
  }

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  }

  const kept = stored((storage) => storage.getItem("capbench-theme"));
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const name = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      stored((storage) => storage.setItem("capbench-theme", root.dataset.theme));
      name();
    });
    system.addEventListener("change", name);
    name();
    button.hidden = false;
  });
})();
