/** Light or dark: as the system has it, unless chosen here. */

import { createStore, forget, keep, stored } from "./store";

export type Theme = "system" | "light" | "dark";

export const theme = createStore<Theme>(stored<Theme>("theme", "system"));

export function applyTheme(chosen: Theme): void {
  if (chosen === "system") {
    document.documentElement.removeAttribute("data-theme");
    forget("theme");
  } else {
    document.documentElement.dataset["theme"] = chosen;
    keep("theme", chosen);
  }
  if (theme.get() !== chosen) theme.set(chosen);
}
