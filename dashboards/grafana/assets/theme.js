// Light or dark: as the system says until the switch is used, then as chosen.
const key = "umascope-preview-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try { return localStorage.getItem(key); } catch { return null; }
}

function apply() {
  document.documentElement.dataset.theme = chosen() ?? (system.matches ? "dark" : "light");
  window.dispatchEvent(new Event("themechange"));
}

export function isDark() { return document.documentElement.dataset.theme === "dark"; }

// color reads a colour of the style sheet, such as --text.
export function color(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

apply();
system.addEventListener("change", apply);
window.addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme")?.addEventListener("click", () => {
    try { localStorage.setItem(key, isDark() ? "light" : "dark"); } catch { /* not kept, and that is all */ }
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    window.dispatchEvent(new Event("themechange"));
  });
});
