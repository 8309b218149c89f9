/** The data of a running `provegym view`. */

import type { Data, Fields, Json, Query } from "./types";

export class Failure extends Error {
  constructor(text: string, readonly status = 0) {
    super(text);
  }
}

const GONE = "The server does not answer. Is `provegym view` still running? Start it again and reload this page.";

async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, options);
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
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

type Value = string | number | boolean;

function get<T>(path: string, query: Record<string, Value | string[]> = {}, signal?: AbortSignal): Promise<T> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return ask<T>(`api/${path}${text && `?${text}`}`, signal ? { signal } : {});
}

function post<T>(path: string, body: Record<string, Json>): Promise<T> {
  const token = document.querySelector<HTMLMetaElement>('meta[name="token"]')?.content ?? "";
  return ask<T>(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-ProveGym-Token": token },
    body: JSON.stringify(body),
  });
}

const filters = (query: Query): Record<string, string[]> => query;

export const live: Data = {
  frozen: false,
  sources: () => get("sources"),
  rows: (source, query, offset, limit, signal) =>
    get("rows", { ...filters(query), source, offset, limit }, signal),
  facets: (source, query, signal) => get("facets", { ...filters(query), source }, signal),
  item: (source, at, query) => get("item", { ...filters(query), source, at }),
  compare: (left, right, sort, offset, limit) =>
    get("compare", { left, right, offset, limit, ...(sort ? { sort } : {}) }),
  pair: (left, left_at, right, right_at) => get("pair", { left, left_at, right, right_at }),
  run: (source, after) => get("run", { source, after }),
  watched: (source) => get("run/examples", { source }),
  servers: () => get("servers"),
  server: (name) => get("server", { name }),
  graph: (server) => get("graph", { server }),
  world: (server, seed, session) => get("world", { server, seed, session }),
  session: (server, seed) => post("session", { server, seed }),
  call: (session, tool, input: Fields) => post("call", { session, tool, arguments: input }),
  undo: (session) => post("undo", { session }),
  reset: (session) => post("reset", { session }),
};
