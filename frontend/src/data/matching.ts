/** Two files over the same examples: which rows belong together, and where two rollouts part. */

import type { Comparison, Item, Message, Pairing, Row } from "./types";

const TIE = 1e-9;

export function compareRows(
  left: Row[], right: Row[], sort: string, offset: number, limit: number,
): Comparison {
  const waiting = new Map<string, Row[]>();
  for (const row of right) waiting.set(row.id, [...(waiting.get(row.id) ?? []), row]);
  const pairs: Pairing[] = [];
  for (const row of left) {
    const other = waiting.get(row.id)?.shift();
    if (!other) continue;
    const difference = (other.reward ?? 0) - (row.reward ?? 0);
    pairs.push({
      id: row.id, server: row.server, left: row.at, right: other.at, left_reward: row.reward,
      right_reward: other.reward, difference,
      left_success: row.success, right_success: other.success, changed: changes(row, other),
    });
  }
  const by: Record<string, (pair: Pairing) => number> = {
    difference: (pair) => pair.difference,
    "-difference": (pair) => -pair.difference,
  };
  const key = by[sort] ?? ((pair: Pairing) => -Math.abs(pair.difference));
  pairs.sort((one, other) => key(one) - key(other));
  const mean = (pick: (pair: Pairing) => number | null): number | null =>
    pairs.length ? pairs.reduce((sum, pair) => sum + (pick(pair) ?? 0), 0) / pairs.length : null;
  return {
    pairs: pairs.length,
    only_left: left.length - pairs.length,
    only_right: right.length - pairs.length,
    mean_left: mean((pair) => pair.left_reward),
    mean_right: mean((pair) => pair.right_reward),
    wins_left: pairs.filter((pair) => pair.difference < -TIE).length,
    wins_right: pairs.filter((pair) => pair.difference > TIE).length,
    ties: pairs.filter((pair) => Math.abs(pair.difference) <= TIE).length,
    rows: pairs.slice(offset, offset + limit),
  };
}

function changes(left: Row, right: Row): string[] {
  const said: string[] = [];
  if (left.calls !== right.calls) said.push(`${left.calls} → ${right.calls} calls`);
  if (left.success !== right.success) said.push(right.success ? "now succeeds" : "no longer succeeds");
  if (left.ended !== right.ended) said.push(`ended: ${right.ended ?? "?"}`);
  const was = left.errors.join(", "), is = right.errors.join(", ");
  if (was !== is) said.push(is ? `errors: ${is}` : "no errors");
  return said;
}

const told = (message: Message | undefined): string =>
  JSON.stringify([message?.role, message?.content ?? "", message?.tool_calls?.map((c) => c.function) ?? []]);

/** The index of the first message in which two rollouts differ. */
export function firstDifference(left: Item, right: Item): number | null {
  const one = left.rollout?.messages ?? [], other = right.rollout?.messages ?? [];
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    if (told(one[at]) !== told(other[at])) return at;
  }
  return null;
}
