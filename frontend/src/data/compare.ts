/** Two files of rollouts over the same examples: which belong together, who wins, what differs. */

import type { Table } from "./table";
import type { Comparison, Fields, Fingerprint, Item, Json, Pair, Pairing, Showcase } from "./types";
import { ratesOf, succeeded } from "./verdict";

const TIE = 1e-9;
const ORDERS: Record<string, (pair: Matched) => number> = {
  "": (pair) => -Math.abs(pair.difference),
  difference: (pair) => pair.difference,
  "-difference": (pair) => -pair.difference,
};

/** Two rows of one example, by their places in the two tables. */
export interface Matched {
  left: number;
  right: number;
  difference: number;
}

export type Summary = Omit<Comparison, "rows" | "done">;

/** Pairs the first rollout of an example with the first on the other side, the second with the second. */
export function match(left: Table, right: Table, sort: string): Matched[] {
  const order = ORDERS[sort];
  if (!order) throw new Error("Pairs are sorted by difference or -difference, or by its size.");
  if (left.holds !== "rollouts" || right.holds !== "rollouts") throw new Error("Only files of rollouts can be compared; choose two of them.");
  const waiting = new Map<string, number[]>();
  for (let row = right.count - 1; row >= 0; row--) {
    const id = right.id.get(row);
    const rows = waiting.get(id);
    if (rows) rows.push(row);
    else waiting.set(id, [row]);
  }
  const pairs: Matched[] = [];
  for (let row = 0; row < left.count; row++) {
    const other = waiting.get(left.id.get(row))?.pop();
    if (other !== undefined) pairs.push({ left: row, right: other, difference: (right.reward.get(other) ?? 0) - (left.reward.get(row) ?? 0) });
  }
  return pairs.sort((one, other) => order(one) - order(other));
}

export function summarise(left: Table, right: Table, pairs: Matched[]): Summary {
  const mean = (table: Table, side: "left" | "right"): number | null =>
    pairs.length ? pairs.reduce((sum, pair) => sum + (table.reward.get(pair[side]) ?? 0), 0) / pairs.length : null;
  return {
    pairs: pairs.length,
    only_left: left.count - pairs.length,
    only_right: right.count - pairs.length,
    mean_left: mean(left, "left"),
    mean_right: mean(right, "right"),
    rates_left: ratesOf(pairs.map((pair) => left.verdict.get(pair.left))),
    rates_right: ratesOf(pairs.map((pair) => right.verdict.get(pair.right))),
    wins_left: pairs.filter((pair) => pair.difference < -TIE).length,
    wins_right: pairs.filter((pair) => pair.difference > TIE).length,
    ties: pairs.filter((pair) => Math.abs(pair.difference) <= TIE).length,
  };
}

export function describe(left: Table, right: Table, pair: Matched, changed: string[]): Pairing {
  return {
    id: left.id.get(pair.left),
    left: left.at[pair.left]!,
    right: right.at[pair.right]!,
    left_reward: left.reward.get(pair.left),
    right_reward: right.reward.get(pair.right),
    left_verdict: left.verdict.get(pair.left),
    right_verdict: right.verdict.get(pair.right),
    difference: pair.difference,
    changed,
  };
}

/** More calls than these make a conversation long rather than interesting. */
const ENOUGH_CALLS = 5;

const isRight = (table: Table, row: number): boolean => {
  const verdict = table.verdict.get(row);
  return verdict !== null && succeeded(verdict);
};

/** How much more a failure teaches that called something, compared with one more call of the success. */
const TRIED = 2;

/** The pair that shows best what the right file does better: only its rollout succeeds, with several calls, and the other tried. */
export function bestContrast(left: Table, right: Table, pairs: Matched[]): Showcase | null {
  const found = pairs.filter((pair) => isRight(right, pair.right) && !isRight(left, pair.left));
  const worth = (pair: Matched): number => interest(right, pair.right) + (left.calls.get(pair.left) ? TRIED : 0) + pair.difference / 10;
  const best = found.sort((one, other) => worth(other) - worth(one))[0];
  return best ? { left: left.at[best.left]!, right: right.at[best.right]! } : null;
}

/** A rollout that succeeded, with several calls. */
export function bestAlone(table: Table): Showcase | null {
  const found = table.at.map((_, row) => row).filter((row) => isRight(table, row));
  const best = found.sort((one, other) => interest(table, other) - interest(table, one))[0];
  return best === undefined ? null : { left: null, right: table.at[best]! };
}

const interest = (table: Table, row: number): number => {
  const calls = table.calls.get(row);
  return calls <= ENOUGH_CALLS ? calls : ENOUGH_CALLS - calls / 100;
};

/** What differs between two rollouts, in short words. */
export function changes(left: Fingerprint | null, right: Fingerprint | null): string[] {
  if (!left || !right) return ["cannot be read"];
  const differs = (name: keyof Fingerprint): boolean => left[name] !== right[name];
  const said: string[] = [];
  if (differs("tools")) said.push("tools called");
  else if (differs("order")) said.push("order of calls");
  else if (differs("arguments")) said.push("arguments");
  if (differs("errors")) said.push("errors");
  if (differs("outcome")) said.push("outcome");
  if (differs("ending")) said.push("ending");
  return said.length || !differs("messages") ? said : ["words"];
}

/** Two rollouts side by side, and the number of the first message in which they differ. */
export function pairUp(left: Item, right: Item): Pair {
  if (!left.rollout || !right.rollout) throw new Error("Only rollouts can be compared; choose two of them.");
  const one = left.rollout.messages as unknown as Json[], other = right.rollout.messages as unknown as Json[];
  const most = Math.max(one.length, other.length);
  let first = 0;
  while (first < most && same(one[first], other[first])) first++;
  return { left, right, first_difference: first < most ? first : null };
}

/** Whether two values of JSON are equal, in whatever order their fields are written. */
function same(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other || typeof one !== "object" || typeof other !== "object" || !one || !other) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const mine = one as Fields, theirs = other as Fields;
  const names = Object.keys(mine);
  return names.length === Object.keys(theirs).length && names.every((name) => name in theirs && same(mine[name], theirs[name]));
}
