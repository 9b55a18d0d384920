// Dark, light, or as the system is. The choice is the only thing that the console keeps in the browser.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };
const KEPT = "sortkey-theme";

export const theme = signal<Theme>(kept());

const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", () => (systemIsDark.value = system.matches));

/** What is drawn by script depends on it; the rest follows the style sheet. */
export const isDark = computed(() => (theme.value === "system" ? systemIsDark.value : theme.value === "dark"));

export function nextTheme(): void {
  theme.value = NEXT[theme.value];
}

effect(() => {
  const root = document.documentElement;
  if (theme.value === "system") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme.value);
  try {
    localStorage.setItem(KEPT, theme.value);
  } catch {
    // A browser that keeps nothing starts with the system's theme each time.
  }
});

function kept(): Theme {
  try {
    const found = localStorage.getItem(KEPT);
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    return "system";
  }
}
