/** Text of models and tools: always text nodes, wrapped, and folded where it is long. */

import { useState } from "preact/hooks";
import type { Json } from "../data";

const LONG = 1600;
const TALL = 28;
const LINE = 84;
const COLUMNS = 16;
const RECORDS = 12;

/** Where to cut a text so that neither its letters nor its lines are too many. */
function cut(text: string): number {
  let at = 0;
  for (let line = 0; line < TALL && at >= 0; line++) at = text.indexOf("\n", at + 1);
  return Math.min(at < 0 ? text.length : at, LONG);
}

function useFold(text: string): [string, number, () => void, boolean] {
  const [open, setOpen] = useState(false);
  const end = cut(text);
  const left = text.length - end;
  return [open || left < LONG / 8 ? text : text.slice(0, end), left < LONG / 8 ? 0 : left, () => setOpen(!open), open];
}

function Unfold({ left, open, flip }: { left: number; open: boolean; flip: () => void }) {
  if (!left) return null;
  return (
    <button type="button" class="unfold" aria-expanded={open} onClick={flip}>
      {open ? "show less" : `show all (${left.toLocaleString("en")} more characters)`}
    </button>
  );
}

export function Prose({ text }: { text: string }) {
  const [shown, left, flip, open] = useFold(text);
  return (
    <div class="prose">
      {shown}
      {left && !open ? "…" : ""}
      <Unfold left={left} open={open} flip={flip} />
    </div>
  );
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** JSON text in quiet colours. */
function Coloured({ text }: { text: string }) {
  const out: preact.ComponentChild[] = [];
  let end = 0;
  for (const found of text.matchAll(TOKEN)) {
    if (found.index > end) out.push(text.slice(end, found.index));
    const [whole, quoted, colon] = found;
    if (colon) out.push(<span class="j-name">{quoted}</span>, colon);
    else out.push(<span class={quoted ? "j-text" : "j-plain"}>{whole}</span>);
    end = found.index + whole.length;
  }
  out.push(text.slice(end));
  return <>{out}</>;
}

export function Code({ text, plain }: { text: string; plain?: boolean }) {
  const [shown, left, flip, open] = useFold(text);
  return (
    <div class="code">
      <pre>{plain ? shown : <Coloured text={shown} />}{left && !open ? "\n…" : ""}</pre>
      <Unfold left={left} open={open} flip={flip} />
    </div>
  );
}

export function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** JSON laid out so that what fits on a line stays on it. */
export function laid(value: Json, indent = ""): string {
  const flat = JSON.stringify(value);
  if (value === null || typeof value !== "object" || flat.length + indent.length <= LINE) {
    return value !== null && typeof value === "object" ? spaced(value) : flat;
  }
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((one) => inner + laid(one, inner))
    : Object.entries(value).map(([name, one]) => `${inner}${JSON.stringify(name)}: ${laid(one, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return parts.length ? `${open}\n${parts.join(",\n")}\n${indent}${close}` : `${open}${close}`;
}

function spaced(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${spaced(one)}`).join(", ")}}`;
}

export function JsonView({ value }: { value: Json }) {
  return <Code text={laid(value)} />;
}

/** A result as a tool gave it: JSON laid out, anything else as it is. */
export function Result({ text }: { text: string }) {
  const value = parsed(text);
  if (value === undefined) return <Code text={text} plain />;
  const items = value && typeof value === "object" && !Array.isArray(value) ? value["items"] : value;
  const columns = columnsOf(items);
  if (!columns) return <JsonView value={value} />;
  const { items: _, ...rest } = Array.isArray(value) ? { items } : (value as Record<string, Json>);
  return (
    <>
      <Grid columns={columns} records={items as Record<string, Json>[]} />
      {Object.keys(rest).length > 0 && <p class="rest">{Object.entries(rest).map(([name, one]) => `${name} ${short(one)}`).join(" · ")}</p>}
    </>
  );
}

/** The columns of records that make a table; none, where they do not. */
function columnsOf(items: Json | undefined): string[] | null {
  if (!Array.isArray(items) || !items.length) return null;
  const names = new Set<string>();
  for (const one of items) {
    if (!one || typeof one !== "object" || Array.isArray(one)) return null;
    for (const name of Object.keys(one)) names.add(name);
  }
  return names.size > 0 && names.size <= COLUMNS ? [...names] : null;
}

function Grid({ columns, records }: { columns: string[]; records: Record<string, Json>[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? records : records.slice(0, RECORDS);
  return (
    <div class="grid" tabIndex={0}>
      <table>
        <thead><tr>{columns.map((name) => <th key={name}>{name}</th>)}</tr></thead>
        <tbody>{shown.map((record, at) => (
          <tr key={at}>{columns.map((name) => <td key={name} class={typeof record[name] === "number" ? "num" : ""} title={short(record[name], 2000)}>{record[name] === undefined ? "" : short(record[name], 60)}</td>)}</tr>
        ))}</tbody>
      </table>
      {records.length > shown.length && <button type="button" class="unfold" onClick={() => setAll(true)}>show all {records.length}</button>}
    </div>
  );
}

export function short(value: Json | undefined, most = 60): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A result in a few words. */
export function gist(text: string): string {
  const value = parsed(text);
  if (value && typeof value === "object" && !Array.isArray(value)) {
    if (typeof value["error"] === "string") return short(value["message"] ?? value["error"], 160);
    const items = value["items"];
    if (Array.isArray(items)) return listed(items, value["total"]);
    const told = Object.entries(value).filter(([, one]) => one !== null && typeof one !== "object");
    return told.slice(0, 5).map(([name, one]) => `${name} ${short(one, 32)}`).join(" · ");
  }
  return short(text, 160);
}

function listed(items: Json[], total: Json | undefined): string {
  const of = typeof total === "number" && total !== items.length ? ` of ${total}` : "";
  const names = items.slice(0, 4).map((one) => {
    if (!one || typeof one !== "object" || Array.isArray(one)) return short(one, 24);
    return short(one["name"] ?? one["title"] ?? one["subject"] ?? one["id"] ?? Object.values(one)[0], 24);
  });
  const more = items.length > 4 ? ", …" : "";
  return `${items.length}${of} ${items.length === 1 ? "item" : "items"}${names.length ? `: ${names.join(", ")}${more}` : ""}`;
}
