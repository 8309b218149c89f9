/** Hash router: the link holds the whole state of a view, #/page/part/part?name=value. */

import { useLayoutEffect, useMemo, useState } from "preact/hooks";

export interface Route {
  parts: string[];
  query: Record<string, string[]>;
}

export function parse(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const query = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of new URLSearchParams(search)) (query[name] ??= []).push(value);
  return { parts: path.split("/").filter(Boolean).map(unescape), query };
}

function unescape(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Value = string | number | string[] | null | undefined;

/** A link to a view; names without a value are left out. */
export function link(parts: (string | number)[], query: Record<string, Value> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") search.append(name, String(one));
    }
  }
  const text = search.toString();
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${text && `?${text}`}`;
}

export function go(to: string, replace = false): void {
  if (to === location.hash) return;
  if (!replace) {
    location.hash = to;
    return;
  }
  history.replaceState(null, "", to);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The route of the address. The listener is added before the first paint, and the address read again then: a change in between is not missed. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useLayoutEffect(() => {
    const changed = (): void => setHash(location.hash);
    changed();
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const route = useMemo(() => parse(hash), [hash]);
  return route;
}

export const first = (route: Route, name: string): string => route.query[name]?.[0] ?? "";
