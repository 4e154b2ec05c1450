/** Addresses of the page: `#/screen/rest?parameters`. Every state that is worth a link is in them. */

import { useEffect, useState } from "preact/hooks";

export interface Route {
  screen: string;
  rest: string;
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const [screen = "", rest = ""] = splitOnce(path, "/");
  return { screen: screen || "ask", rest: decoded(rest), query: new URLSearchParams(query) };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Values = Record<string, string | number | null | undefined>;

/** Return the address of a screen, for `href`. */
export function href(screen: string, values: Values = {}, rest = ""): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${screen}${rest ? `/${encodeURIComponent(rest)}` : ""}${text ? `?${text}` : ""}`;
}

/** Return the address of the current screen with some parameters changed; null removes one. */
export function hrefWith(route: Route, changes: Values, screen = route.screen): string {
  const query = new URLSearchParams(route.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${screen}${route.rest ? `/${encodeURIComponent(route.rest)}` : ""}${text ? `?${text}` : ""}`;
}

export function go(address: string, replace = false): void {
  if (replace) {
    history.replaceState(null, "", address);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else if (location.hash === address) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = address;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const read = (): void => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return route;
}

/** Return a number among the parameters, null where it is missing or none. */
export function numberOf(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  const value = text === null || text.trim() === "" ? NaN : Number(text);
  return Number.isInteger(value) && value >= 0 ? value : null;
}
