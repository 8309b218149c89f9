/** Light or dark: as the system says, unless somebody chose. */

import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";
const KEPT = "provegym-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEPT);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

function apply(theme: Theme): void {
  const shown = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  document.documentElement.dataset["theme"] = shown;
  dispatchEvent(new Event("themechange"));
}

export function startTheme(): void {
  apply(kept());
  dark.addEventListener("change", () => apply(kept()));
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(kept);
  return [theme, (next) => {
    try {
      if (next === "system") localStorage.removeItem(KEPT);
      else localStorage.setItem(KEPT, next);
    } catch {
      // A page opened from a file may have no storage; the choice then lasts as long as the page.
    }
    setTheme(next);
    apply(next);
  }];
}

/** Draws again when the theme changes; for what is painted rather than styled. */
export function useThemeChange(): number {
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const changed = (): void => setTimes((now) => now + 1);
    addEventListener("themechange", changed);
    return () => removeEventListener("themechange", changed);
  }, []);
  return times;
}
