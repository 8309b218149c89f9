/** What the pages ask for, answered from a store: a running server or the data of a report. */

import { bestAlone, bestContrast, changes, describe, match, pairUp, summarise } from "./compare";
import { searchWords, Selection } from "./select";
import { Table } from "./table";
import type { Data, Query, Row, Store } from "./types";

export function answers(store: Store): Data {
  const tables = new Map<number, Table>();
  const loading = new Map<number, Promise<Table>>();
  const searches = new Map<number, { key: string; rows: Promise<number[]> }>();

  const load = async (source: number): Promise<Table> => {
    let table = tables.get(source) ?? new Table();
    for (let total = Infinity; table.count < total;) {
      const batch = await store.columns(source, table.generation, table.count);
      if (batch.first === 0) table = new Table(batch.kind, batch.generation);
      table.append(batch.columns);
      table.done = batch.done;
      total = batch.total;
    }
    tables.set(source, table);
    return table;
  };

  /** A source's rows as they are now; pages that ask at the same time share one request. */
  const tableOf = (source: number): Promise<Table> => {
    const begun = loading.get(source) ?? load(source).finally(() => loading.delete(source));
    loading.set(source, begun);
    return begun;
  };

  /** A source's rows, and which of them contain the words of a search. */
  const find = async (source: number, query: Query): Promise<{ table: Table; found: number[] | null }> => {
    const table = await tableOf(source);
    const words = searchWords(query);
    if (!words.length) return { table, found: null };
    const key = JSON.stringify([words, table.generation, table.count]);
    let search = searches.get(source);
    if (search?.key !== key) {
      search = { key, rows: store.search(source, words) };
      searches.set(source, search);
      search.rows.catch(() => searches.delete(source));
    }
    return { table, found: await search.rows };
  };

  return {
    ...store,
    rows: async (source, query, offset, limit) => {
      const { table, found } = await find(source, query);
      const begun = performance.now();
      const all = new Selection(table, query, found).rows();
      const told = { total: all.length, of: table.count, done: table.done, took_ms: performance.now() - begun };
      const rows = all.slice(offset, offset + limit);
      const texts = await store.texts(source, rows);
      return { ...told, rows: rows.map((row, at) => rowOf(table, row, texts[at] ?? "")) };
    },
    facets: async (source, query) => {
      const { table, found } = await find(source, query);
      return new Selection(table, query, found).facets();
    },
    item: async (source, at, query) => {
      const [item, { table, found }] = await Promise.all([store.item(source, at), find(source, query)]);
      const all = new Selection(table, query, found).rows().map((row) => table.at[row]!);
      const place = all.indexOf(at);
      if (place < 0) return { ...item, previous: null, next: null, place: null, total_items: all.length };
      return { ...item, previous: all[place - 1] ?? null, next: all[place + 1] ?? null, place, total_items: all.length };
    },
    compare: async (left, right, sort, offset, limit) => {
      const [one, other] = await Promise.all([tableOf(left), tableOf(right)]);
      const pairs = match(one, other, sort);
      const page = pairs.slice(offset, offset + limit);
      const [mine, theirs] = await Promise.all([
        store.fingerprints(left, page.map((pair) => pair.left)),
        store.fingerprints(right, page.map((pair) => pair.right)),
      ]);
      const rows = page.map((pair, at) => describe(one, other, pair, changes(mine[at] ?? null, theirs[at] ?? null)));
      return { ...summarise(one, other, pairs), done: one.done && other.done, rows };
    },
    pair: async (left, leftAt, right, rightAt) =>
      pairUp(...(await Promise.all([store.item(left, leftAt), store.item(right, rightAt)]))),
    showcase: async (left, right) => {
      if (left === null) return bestAlone(await tableOf(right));
      const [one, other] = await Promise.all([tableOf(left), tableOf(right)]);
      return bestContrast(one, other, match(one, other, ""));
    },
  };
}

function rowOf(table: Table, row: number, text: string): Row {
  return {
    at: table.at[row]!,
    id: table.id.get(row),
    server: table.server.get(row),
    kind: table.kind.get(row),
    calls: table.calls.get(row),
    reward: table.reward.get(row),
    verdict: table.verdict.get(row),
    errors: table.error.get(row),
    knobs: table.knob.get(row),
    text,
  };
}
