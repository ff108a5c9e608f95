// Light or dark: the system's choice, unless a person makes one.

export type Theme = "system" | "light" | "dark"

const KEY = "samovar.theme"

export function themeNow(): Theme {
  try {
    const kept = localStorage.getItem(KEY)
    return kept === "light" || kept === "dark" ? kept : "system"
  } catch {
    return "system"
  }
}

export function setTheme(theme: Theme) {
  try {
    if (theme === "system") localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {
    // A browser that keeps nothing still shows it until the page is left.
  }
  applyTheme(theme)
}

export function applyTheme(theme = themeNow()) {
  const root = document.documentElement
  if (theme === "system") delete root.dataset["theme"]
  else root.dataset["theme"] = theme
}
