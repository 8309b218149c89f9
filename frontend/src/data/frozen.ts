/** The data of a report: everything is in the page, and the page itself filters and compares. */

import { compareRows, firstDifference } from "./matching";
import type {
  Counts, Data, Facets, Graph, Item, Query, Row, Run, Server, ServerCard, Sources, Watched,
} from "./types";

export interface Report {
  frozen: true;
  note?: string;
  version?: string;
  sources: Sources["sources"];
  rows: Record<string, Row[]>;
  items: Record<string, Item | { error: string }>;
  runs?: Record<string, Run>;
  run_examples?: Record<string, Watched[]>;
  graphs?: Record<string, Graph>;
  servers?: ServerCard[];
  server?: Record<string, Server>;
}

const BUCKETS = 20;
const MOST = 1.3;

const facetsOf: Record<string, (row: Row) => string[]> = {
  server: (row) => [row.server],
  kind: (row) => [row.kind],
  knob: (row) => (row.knobs.length ? row.knobs : ["none"]),
  error: (row) => (row.errors.length ? row.errors : ["none"]),
  policy: (row) => (row.policy ? [row.policy] : []),
  ended: (row) => (row.ended ? [row.ended] : []),
  success: (row) => (row.success === null ? [] : [row.success ? "1" : "0"]),
  id: (row) => [row.id],
};

const number = (query: Query, name: string): number | null => {
  const text = query[name]?.[0];
  return text ? Number(text) : null;
};

function within(value: number | null, least: number | null, most: number | null): boolean {
  if (least === null && most === null) return true;
  if (value === null) return false;
  return (least === null || value >= least) && (most === null || value <= most);
}

/** Whether a row passes every filter but those named. */
export function passes(row: Row, query: Query, but = ""): boolean {
  for (const [name, values] of Object.entries(facetsOf)) {
    const wanted = query[name];
    if (!wanted?.length || name === but) continue;
    if (!values(row).some((value) => wanted.includes(value))) return false;
  }
  const said = `${row.id} ${row.text}`.toLowerCase();
  const words = (query["text"]?.[0] ?? "").toLowerCase().split(/\s+/);
  if (!words.every((word) => said.includes(word))) return false;
  if (but !== "reward" && !within(row.reward, number(query, "least"), number(query, "most"))) return false;
  return but === "calls" || within(row.calls, number(query, "calls_least"), number(query, "calls_most"));
}

export function sorted(rows: Row[], order: string): Row[] {
  const name = order.replace(/^-/, "");
  if (name !== "reward" && name !== "calls") return rows;
  const sign = order.startsWith("-") ? -1 : 1;
  const value = (row: Row): number => row[name] ?? -Infinity;
  return [...rows].sort((one, other) => sign * (value(one) - value(other)) || one.at - other.at);
}

function count(rows: Row[], values: (row: Row) => string[]): Counts {
  const counts = Object.create(null) as Counts;
  for (const row of rows) for (const value of values(row)) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

function facets(rows: Row[], query: Query): Facets {
  const of = (name: string): Counts =>
    count(rows.filter((row) => passes(row, query, name)), facetsOf[name] ?? (() => []));
  const reward = new Array<number>(BUCKETS).fill(0);
  for (const row of rows) {
    if (row.reward === null || !passes(row, query, "reward")) continue;
    const bucket = Math.floor((row.reward / MOST) * BUCKETS);
    const at = Math.max(0, Math.min(BUCKETS - 1, bucket));
    reward[at] = (reward[at] ?? 0) + 1;
  }
  const success = of("success");
  return {
    server: of("server"), kind: of("kind"), knob: of("knob"), error: of("error"),
    policy: of("policy"), ended: of("ended"), reward,
    success: { true: success["1"] ?? 0, false: success["0"] ?? 0 },
    calls: count(rows.filter((row) => passes(row, query, "calls")), (row) => [String(row.calls)]),
  };
}

function never(what: string): () => Promise<never> {
  return () => Promise.reject(new Error(`A report is frozen: ${what} needs a running \`provegym view\`.`));
}

function watched(report: Report, run: number): Watched[] {
  const given = report.run_examples?.[run];
  if (given) return given;
  const found = new Map<string, Watched>();
  for (const source of report.sources) {
    if (source.run !== run || source.step === undefined) continue;
    for (const row of report.rows[source.id] ?? []) {
      const known = found.get(row.id) ?? { id: row.id, steps: [] };
      known.steps.push({ step: source.step, source: source.id, at: row.at, reward: row.reward });
      found.set(row.id, known);
    }
  }
  const several = [...found.values()].filter((one) => new Set(one.steps.map((s) => s.step)).size > 1);
  for (const one of several) one.steps.sort((a, b) => a.step - b.step);
  return several;
}

export function frozen(report: Report): Data {
  const rows = (source: number): Row[] => report.rows[source] ?? [];
  const give = <T,>(value: T | undefined, missing: string): Promise<T> =>
    value === undefined ? Promise.reject(new Error(missing)) : Promise.resolve(value);
  const item = async (source: number, at: number): Promise<Item> => {
    const found = await give(report.items[`${source}:${at}`], "This item is not in the report; it holds a selection only.");
    if ("error" in found) throw new Error(found.error);
    return found;
  };
  const listed = (source: number, query: Query): Row[] =>
    sorted(rows(source).filter((row) => passes(row, query)), query["sort"]?.[0] ?? "");
  return {
    frozen: true,
    sources: () => Promise.resolve({
      sources: report.sources.map((one) => (one.id in report.rows ? { ...one, done: true, shown: rows(one.id).length } : one)),
      version: report.version ?? "",
      ...(report.note ? { note: report.note } : {}),
    }),
    rows: (source, query, offset, limit) => {
      const all = listed(source, query);
      const page = all.slice(offset, offset + limit);
      return Promise.resolve({ total: all.length, of: rows(source).length, done: true, took_ms: 0, rows: page });
    },
    facets: (source, query) => Promise.resolve(facets(rows(source), query)),
    item: async (source, at, query) => {
      const found = await item(source, at);
      const all = listed(source, query);
      const place = all.findIndex((row) => row.at === at);
      return {
        ...found,
        previous: all[place - 1]?.at ?? null,
        next: place < 0 ? null : (all[place + 1]?.at ?? null),
        place: place < 0 ? null : place,
        total_items: all.length,
      };
    },
    compare: (left, right, sort, offset, limit) =>
      Promise.resolve(compareRows(rows(left), rows(right), sort, offset, limit)),
    pair: async (left, leftAt, right, rightAt) => {
      const [one, other] = await Promise.all([item(left, leftAt), item(right, rightAt)]);
      return { left: one, right: other, first_difference: firstDifference(one, other) };
    },
    run: (source) => give(report.runs?.[source], "This run is not in the report."),
    watched: (source) => Promise.resolve(watched(report, source)),
    servers: () => Promise.resolve(report.servers ?? []),
    server: (name) => give(report.server?.[name], `The report does not carry the server ${name}.`),
    graph: (server) => give(report.graphs?.[server], `The report does not carry the graph of ${server}.`),
    world: never("a world"),
    session: never("trying a tool"),
    call: never("trying a tool"),
    undo: never("trying a tool"),
    reset: never("trying a tool"),
  };
}
