/** A world as tables one can search; what calls changed is marked. */

import { useMemo, useState } from "preact/hooks";
import { useAsk } from "../ask";
import { data, type Change, type Json, type Table } from "../data";
import { useKeys } from "../keys";
import type { Playing } from "../pages/server";
import { first, type Route } from "../route";
import { Changes } from "./changes";
import { grouped } from "./marks";
import { Answer, Nothing } from "./say";
import { short } from "./text";

const PAGE = 150;

export function WorldView({ server, seed, playing, route, set }: {
  server: string; seed: number; playing: Playing; route: Route; set: (changes: Record<string, string>) => void;
}) {
  const asked = useAsk(`${server} ${seed} ${playing.session} ${playing.made.length}`, () => data.world(server, seed, playing.session));
  return (
    <Answer asked={asked} what="the world">
      {(world) => {
        const table = world.tables.find((one) => one.name === first(route, "table")) ?? world.tables[0];
        const changed = (name: string): number => playing.since.filter((change) => change.table === name).length;
        return (
          <div class="world-body">
            <nav class="tool-list" aria-label="tables">
              <p class="clock">It is <b>{world.now.replace("T", " ").replace(/(:00)?(\.0+)?(Z|\+00:00)$/, " UTC")}</b></p>
              <ul>
                {world.tables.map((one) => (
                  <li key={one.name}>
                    <button type="button" aria-current={one === table ? "true" : undefined} onClick={() => set({ table: one.name })}>
                      <span class="tool">{one.name}</span>{changed(one.name) > 0 && <span class="touched">{changed(one.name)} changed</span>}<span class="count">{grouped(one.total)}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </nav>
            {table ? <Records key={table.name} table={table} since={playing.since} /> : <Nothing>This world has no tables.</Nothing>}
          </div>
        );
      }}
    </Answer>
  );
}

const cell = (value: Json | undefined): string => (value === null || value === undefined ? "" : short(value, 400));

function Records({ table, since }: { table: Table; since: Change[] }) {
  const [typed, setTyped] = useState("");
  const [shown, setShown] = useState(PAGE);
  const [order, setOrder] = useState<[number, 1 | -1] | null>(null);
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".records input")?.focus() });
  const changed = useMemo(() => new Map(since.filter((change) => change.table === table.name).map((change) => [change.key, change])), [since, table]);
  const rows = useMemo(() => {
    const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const found = table.rows.filter((row) => { const text = row.map(cell).join(" ").toLowerCase(); return wanted.every((word) => text.includes(word)); });
    return order ? [...found].sort((one, other) => order[1] * compare(one[order[0]], other[order[0]])) : found;
  }, [table, typed, order]);
  const removed = [...changed.values()].filter((change) => !change.after);
  const sort = (at: number): void => setOrder(order?.[0] !== at ? [at, 1] : order[1] === 1 ? [at, -1] : null);
  return (
    <div class="records">
      <div class="records-head">
        <input type="search" placeholder={`Search ${table.name} …`} aria-label="search" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <span class="aside">{typed ? `${grouped(rows.length)} of ` : ""}{grouped(table.total)} {table.name}{table.total > table.rows.length ? `, the first ${grouped(table.rows.length)} are here` : ""}</span>
      </div>
      <Changes changes={removed} title="removed records" />
      <div class="table-box" tabIndex={0}>
        <table>
          <thead><tr>{table.columns.map((column, at) => (
            <th key={column} aria-sort={order?.[0] === at ? (order[1] > 0 ? "ascending" : "descending") : undefined}><button type="button" onClick={() => sort(at)}>{column}{order?.[0] === at ? (order[1] > 0 ? " ↑" : " ↓") : ""}</button></th>
          ))}</tr></thead>
          <tbody>
            {rows.slice(0, shown).map((row) => {
              const change = changed.get(String(row[0]));
              return (
                <tr key={String(row[0])} class={change ? (change.before ? "edit" : "made") : ""}>
                  {row.map((value, at) => {
                    const was = change?.before?.[table.columns[at] ?? ""];
                    const moved = change?.before && table.columns[at]! in change.before;
                    return <td key={at} class={`${typeof value === "number" ? "num" : ""} ${moved ? "moved" : ""}`} title={moved ? `was ${cell(was)}` : undefined}>{cell(value)}</td>;
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
        {!rows.length && <p class="silent">{typed ? "No record fits." : "There is no record."}</p>}
        {rows.length > shown && <button type="button" class="more" onClick={() => setShown(shown + PAGE)}>show more of {grouped(rows.length)}</button>}
      </div>
    </div>
  );
}

function compare(one: Json | undefined, other: Json | undefined): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return cell(one).localeCompare(cell(other), "en", { numeric: true });
}
