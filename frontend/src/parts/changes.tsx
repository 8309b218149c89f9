/** What changed in a world, record by record. */

import type { Change, Fields, Json } from "../data";
import { short } from "./text";

const kindOf = (change: Change): "made" | "gone" | "edit" =>
  !change.before ? "made" : !change.after ? "gone" : "edit";
const MARK = { made: "+", gone: "−", edit: "~" } as const;
const SAID = { made: "created", gone: "removed", edit: "changed" } as const;

function Edited({ before, after }: { before: Fields; after: Fields }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return (
    <>
      {names.map((name) => (
        <span class="field" key={name}>
          <span class="j-name">{name}</span> <del>{show(before[name])}</del>
          <span class="to"> → </span><ins>{show(after[name])}</ins>
        </span>
      ))}
    </>
  );
}

function Whole({ fields }: { fields: Fields }) {
  const told = Object.entries(fields).filter(([name]) => name !== "id");
  return (
    <>
      {told.map(([name, value]) => (
        <span class="field" key={name}><span class="j-name">{name}</span> {show(value)}</span>
      ))}
    </>
  );
}

const show = (value: Json | undefined): string => (value === undefined ? "∅" : short(value, 90));

export function Changes({ changes, title }: { changes: Change[] | undefined; title?: string }) {
  if (!changes?.length) return null;
  return (
    <ul class="changes" aria-label={title ?? "changed records"}>
      {changes.map((change, at) => {
        const kind = kindOf(change);
        return (
          <li class={`change ${kind}`} key={at}>
            <span class="mark" title={SAID[kind]}>{MARK[kind]}</span>
            <span class="record">{change.table} <b>{change.key}</b></span>
            <span class="fields">
              {kind === "edit"
                ? <Edited before={change.before ?? {}} after={change.after ?? {}} />
                : <Whole fields={change.after ?? change.before ?? {}} />}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
