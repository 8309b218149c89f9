/** Filters, order and counts (facets) over the rows of a source, for the live page and for reports. */

import type { Column, Table } from "./table";
import type { Counts, Facets, Query, Verdict } from "./types";
import { succeeded } from "./verdict";

const BUCKETS = 20;
export const TOP_REWARD = 1.3;
const NONE = "none";
const MOST_VALUES = 200;
const MOST_WORDS = 8;
const MOST_CHARACTERS = 1_000;
const ORDERS = ["line", "-line", "reward", "-reward", "calls", "-calls"];

type Mask = Uint8Array;

/** The columns with a filter by value, and the values a filter sees in an entry of each. */
const BY_VALUE: Record<string, (table: Table) => { codes: number[]; values: string[][] }> = {
  id: (table) => seen(table.id, (value) => [value]),
  server: (table) => seen(table.server, (value) => [value]),
  kind: (table) => seen(table.kind, (value) => [value]),
  policy: (table) => seen(table.policy, (value) => [value]),
  ending: (table) => seen(table.ending, (value) => [value]),
  knob: (table) => seen(table.knob, several),
  error: (table) => seen(table.error, several),
  success: (table) => seen(table.verdict, (verdict) => yesOrNo(verdict, succeeded)),
  state: (table) => seen(table.verdict, (verdict) => yesOrNo(verdict, ({ state }) => state)),
  answer: (table) => seen(table.verdict, (verdict) => yesOrNo(verdict, ({ answer }) => answer)),
  ended: (table) => seen(table.verdict, (verdict) => yesOrNo(verdict, ({ ended }) => ended)),
};

/** What a filter by a part of success sees: "1" or "0", nothing where there is no verdict. */
function yesOrNo(verdict: Verdict | null, part: (verdict: Verdict) => boolean | undefined): string[] {
  return verdict === null ? [] : [part(verdict) ? "1" : "0"];
}

function seen<T>(column: Column<T>, split: (value: T) => string[]): { codes: number[]; values: string[][] } {
  return { codes: column.codes, values: column.values.map(split) };
}

const several = (values: string[]): string[] => (values.length ? [...new Set(values)] : [NONE]);

/** The words of a search in upper case, longest first; a row must contain all of them. */
export function searchWords(query: Query): string[] {
  const text = [...(query["text"]?.[0] ?? "")].slice(0, MOST_CHARACTERS).join("");
  const words = new Set(text.toUpperCase().split(/\s+/).filter(Boolean));
  return [...words].sort((one, other) => other.length - one.length).slice(0, MOST_WORDS);
}

/** A query on a table; `found` are the rows that contain the words of a search, null without one. */
export class Selection {
  private readonly masks = new Map<string, Mask>();
  /** By how many filters each row is excluded. */
  private readonly excluded: Mask;

  constructor(private readonly table: Table, private readonly query: Query, found: number[] | null) {
    for (const name of Object.keys(BY_VALUE)) {
      const wanted = new Set(query[name] ?? []);
      if (wanted.size) this.masks.set(name, this.byValue(name, wanted));
    }
    this.byRange("reward", table.reward, "least", "most");
    this.byRange("calls", table.calls, "calls_least", "calls_most");
    if (found) this.masks.set("text", fromRows(found, table.count));
    this.excluded = new Uint8Array(table.count);
    for (const mask of this.masks.values()) {
      for (let row = 0; row < mask.length; row++) if (!mask[row]) this.excluded[row]!++;
    }
  }

  private byValue(name: string, wanted: Set<string>): Mask {
    const { codes, values } = BY_VALUE[name]!(this.table);
    return mask(codes, values.map((all) => all.some((value) => wanted.has(value))));
  }

  private byRange(name: string, column: Column<number | null>, least: string, most: string): void {
    const low = numberIn(this.query, least), high = numberIn(this.query, most);
    if (low === null && high === null) return;
    const fits = (value: number | null): boolean => value !== null && value >= (low ?? -Infinity) && value <= (high ?? Infinity);
    this.masks.set(name, mask(column.codes, column.values.map(fits)));
  }

  /** The rows that pass every filter, in the order asked for. Equal rows, and those without a reward, stay in the order of the file. */
  rows(): number[] {
    const rows = [];
    for (let row = 0; row < this.table.count; row++) if (!this.excluded[row]) rows.push(row);
    const order = this.query["sort"]?.[0] ?? "line";
    if (!ORDERS.includes(order)) throw new Error(`A list is not sorted by ${order}.`);
    if (order === "line") return rows;
    if (order === "-line") return rows.reverse();
    const { codes, values } = order.endsWith("reward") ? this.table.reward : this.table.calls;
    const sign = order.startsWith("-") ? -1 : 1;
    const keys = values.map((value) => (value === null ? Infinity : sign * value));
    const key = (row: number): number => keys[codes[row]!]!;
    return rows.sort((one, other) => (key(one) < key(other) ? -1 : key(one) > key(other) ? 1 : 0));
  }

  /** How many rows each value of a filter would leave, under all the other filters. */
  facets(): Facets {
    const { table } = this;
    const reward = new Array<number>(BUCKETS).fill(0);
    this.tally("reward", table.reward.codes, table.reward.values.length).forEach((count, code) => {
      const value = table.reward.values[code];
      if (typeof value === "number") reward[bucket(value)]! += count;
    });
    const calls = Object.create(null) as Counts;
    this.tally("calls", table.calls.codes, table.calls.values.length).forEach((count, code) => {
      if (count) calls[table.calls.values[code]!] = count;
    });
    return {
      server: this.counts("server"), kind: this.counts("kind"), knob: this.counts("knob"), error: this.counts("error"),
      policy: this.counts("policy"), ending: this.counts("ending"), success: this.counts("success"), state: this.counts("state"),
      answer: this.counts("answer"), ended: this.counts("ended"), calls, reward,
    };
  }

  /** How many rows have each code of a column, under all filters but that column's own. */
  private tally(name: string, codes: number[], values: number): number[] {
    const own = this.masks.get(name);
    const counts = new Array<number>(values).fill(0);
    for (let row = 0; row < codes.length; row++) {
      if (this.excluded[row] === (own && !own[row] ? 1 : 0)) counts[codes[row]!]!++;
    }
    return counts;
  }

  private counts(name: string): Counts {
    const { codes, values } = BY_VALUE[name]!(this.table);
    const all = new Map<string, number>();
    this.tally(name, codes, values.length).forEach((count, code) => {
      for (const value of count ? values[code]! : []) all.set(value, (all.get(value) ?? 0) + count);
    });
    const kept = [...all].sort(([, one], [, other]) => other - one).slice(0, MOST_VALUES);
    const counts = Object.create(null) as Counts;
    for (const [value, count] of kept) counts[value] = count;
    return counts;
  }
}

function mask(codes: number[], fits: boolean[]): Mask {
  const found = new Uint8Array(codes.length);
  for (let row = 0; row < codes.length; row++) found[row] = fits[codes[row]!] ? 1 : 0;
  return found;
}

function fromRows(rows: number[], count: number): Mask {
  const found = new Uint8Array(count);
  for (const row of rows) found[row] = 1;
  return found;
}

function numberIn(query: Query, name: string): number | null {
  const text = query[name]?.[0];
  if (!text) return null;
  const number = Number(text);
  if (Number.isNaN(number)) throw new Error(`The filter ${name} wants a number, not ${text}.`);
  return number;
}

function bucket(reward: number): number {
  const share = Math.min(Math.max(reward, 0), TOP_REWARD) / TOP_REWARD;
  return Math.min(BUCKETS - 1, Math.floor(share * BUCKETS));
}
