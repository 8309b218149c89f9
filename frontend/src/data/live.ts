/** The store of the live page: requests to a running `provegym view`. */

import type { Fields, Json, Store } from "./types";

export class Failure extends Error {
  constructor(text: string, readonly status = 0) {
    super(text);
  }
}

const MOST_ROWS = 500;
const GONE = "The server does not answer. Is `provegym view` still running? Start it again and reload this page.";

async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Failure(GONE);
  }
  let body: unknown;
  try {
    body = await answer.json();
  } catch {
    throw new Failure(`The server answered ${answer.status} without a reason.`, answer.status);
  }
  if (!answer.ok) {
    const said = (body as { error?: unknown } | null)?.error;
    throw new Failure(typeof said === "string" ? said : `The server answered ${answer.status}.`, answer.status);
  }
  return body as T;
}

type Value = string | number;

function get<T>(path: string, query: Record<string, Value | Value[]> = {}): Promise<T> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return ask<T>(`api/${path}${text && `?${text}`}`);
}

/** One value per row, asked for in requests of bounded length. */
async function getPerRow<T>(path: string, source: number, rows: number[]): Promise<T[]> {
  const parts: Promise<T[]>[] = [];
  for (let at = 0; at < rows.length; at += MOST_ROWS) parts.push(get(path, { source, row: rows.slice(at, at + MOST_ROWS) }));
  return (await Promise.all(parts)).flat();
}

function post<T>(path: string, body: Record<string, Json>): Promise<T> {
  const token = document.querySelector<HTMLMetaElement>('meta[name="token"]')?.content ?? "";
  return ask<T>(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-ProveGym-Token": token },
    body: JSON.stringify(body),
  });
}

export const live: Store = {
  frozen: false,
  sources: () => get("sources"),
  columns: (source, generation, after) => get("columns", { source, generation, after }),
  search: (source, words) => get("search", { source, word: words }),
  texts: (source, rows) => getPerRow("texts", source, rows),
  fingerprints: (source, rows) => getPerRow("fingerprints", source, rows),
  figures: (source) => get("figures", { source }),
  item: (source, at) => get("item", { source, at }),
  run: (source, after) => get("run", { source, after }),
  watched: (source) => get("run/examples", { source }),
  servers: () => get("servers"),
  server: (name) => get("server", { name }),
  graphs: async () => (await live.servers()).filter((server) => !server.drawn).map((server) => server.name),
  graph: (server) => get("graph", { server }),
  world: (server, seed, session) => get("world", { server, seed, session }),
  session: (server, seed) => post("session", { server, seed }),
  call: (session, tool, input: Fields) => post("call", { session, tool, arguments: input }),
  undo: (session) => post("undo", { session }),
  reset: (session) => post("reset", { session }),
};
