/** The store of a report: everything is in the page. */

import type { Columns } from "./table";
import type { Figures, Fingerprint, Graph, Item, Run, Server, ServerCard, Source, Store, Watched } from "./types";

/** The rows of one source that the report holds: one entry per row in every list. */
interface FrozenRows {
  kind: string;
  columns: Columns;
  texts: string[];
  searched: string[];
  fingerprints: (Fingerprint | null)[];
}

export interface Report {
  version: string;
  /** The hash of the page to open first. */
  start: string;
  sources: Source[];
  rows: Record<string, FrozenRows>;
  items: Record<string, Item | { error: string }>;
  figures: Record<string, Figures>;
  runs: Record<string, Run>;
  run_examples: Record<string, Watched[]>;
  servers: ServerCard[];
  server: Record<string, Server>;
  graphs: Record<string, Graph>;
}

async function give<T>(value: T | undefined, missing: string): Promise<T> {
  if (value === undefined) throw new Error(missing);
  return value;
}

function never(what: string): () => Promise<never> {
  return () => Promise.reject(new Error(`A report is frozen: ${what} needs a running \`provegym view\`.`));
}

export function frozen(report: Report): Store {
  const rowsOf = (source: number): Promise<FrozenRows> => give(report.rows[source], "This source is not in the report.");
  return {
    frozen: true,
    sources: async () => ({ sources: report.sources, version: report.version }),
    columns: async (source) => {
      const { kind, columns } = await rowsOf(source);
      return { kind, generation: 0, first: 0, total: columns.at.length, done: true, columns };
    },
    search: async (source, words) => {
      const { searched } = await rowsOf(source);
      return [...searched.keys()].filter((row) => words.every((word) => searched[row]!.includes(word)));
    },
    texts: async (source, rows) => {
      const { texts } = await rowsOf(source);
      return rows.map((row) => texts[row]!);
    },
    fingerprints: async (source, rows) => {
      const { fingerprints } = await rowsOf(source);
      return rows.map((row) => fingerprints[row]!);
    },
    figures: (source) => give(report.figures[source], "This source is not in the report."),
    item: async (source, at) => {
      const found = await give(report.items[`${source}:${at}`], "This item is not in the report; it holds a selection only.");
      if ("error" in found) throw new Error(found.error);
      return found;
    },
    run: (source) => give(report.runs[source], "This run is not in the report."),
    watched: (source) => give(report.run_examples[source], "This run is not in the report."),
    servers: async () => report.servers,
    server: (name) => give(report.server[name], `The report does not carry the server ${name}.`),
    graphs: async () => Object.keys(report.graphs),
    graph: (server) => give(report.graphs[server], `The report does not carry the graph of ${server}.`),
    world: never("a world"),
    session: never("trying a tool"),
    call: never("trying a tool"),
    undo: never("trying a tool"),
    reset: never("trying a tool"),
  };
}
