/** A form for any tool, built from its schema; what is left empty is left out. */

import { useMemo, useState } from "preact/hooks";
import { useAsk } from "../ask";
import { data, type Fields, type Json, type Schema, type Tool, type World } from "../data";
import type { Playing } from "../pages/server";
import { allows, fieldOf, type Field } from "./schema";
import { parsed, short } from "./text";

type Values = Record<string, string | string[]>;
const HINTS = 200;

/** The text of a field as the value it stands for; undefined leaves it out. */
function valueOf(field: Field, text: string | string[] | undefined, root: Schema): Json | undefined {
  if (Array.isArray(text)) {
    const item = fieldOf(field.schema.items ?? {}, root);
    const items = text.map((one) => valueOf(item, one, root)).filter((one) => one !== undefined);
    return items.length ? items : undefined;
  }
  if (text === undefined || text === "") return undefined;
  if (field.shape === "choice") return field.choices.find((one) => String(one) === text) ?? text;
  if (field.shape === "boolean") return text === "true";
  if (field.shape === "number" || field.shape === "integer") return Number.isNaN(Number(text)) ? text : Number(text);
  if (field.shape === "time") return /Z|[+-]\d\d:\d\d$/.test(text) ? text : `${text.length === 16 ? `${text}:00` : text}Z`;
  if (field.shape === "json") return parsed(text) ?? text;
  return text;
}

/** Ids of this world that could be meant: those of the table whose noun the argument names. */
function hints(name: string, world: World | null): [string, string][] {
  const noun = name.replace(/_ids?$/, "");
  if (noun === name || !world) return [];
  const table = world.tables.find((one) => one.noun === noun || noun.endsWith(`_${one.noun}`) || one.noun.endsWith(noun))
    ?? world.tables.find((one) => one.noun === "account" && ["source", "target"].includes(noun));
  if (!table) return [];
  const label = Math.max(1, table.columns.findIndex((column) => ["name", "title", "subject", "text", "label"].includes(column)));
  return table.rows.slice(0, HINTS).map((row) => [String(row[0]), short(row[label], 40)]);
}

function Input({ id, name, field, value, change, world, required }: {
  id: string; name: string; field: Field; value: string | string[] | undefined; change: (value: string | string[]) => void; world: World | null; required: boolean;
}) {
  const { shape, schema, choices } = field;
  if (shape === "list") return <List id={id} name={name} field={field} values={Array.isArray(value) ? value : []} change={change} world={world} />;
  const text = typeof value === "string" ? value : "";
  const common = { id, name, value: text, required, "aria-describedby": `${id}-about` };
  const put = (event: { currentTarget: { value: string } }): void => change(event.currentTarget.value);
  const left = schema.default === undefined ? "" : short(schema.default);
  if (shape === "choice" || shape === "boolean") {
    return (
      <select {...common} onChange={put}>
        <option value="">{required ? "choose …" : left ? `left out (${left})` : "left out"}</option>
        {(shape === "boolean" ? ["true", "false"] : choices.map(String)).map((one) => <option key={one} value={one}>{one}</option>)}
      </select>
    );
  }
  if (shape === "json") return <textarea {...common} rows={3} placeholder="JSON" onInput={put} />;
  if (shape === "number" || shape === "integer") {
    return <input {...common} type="number" step={shape === "integer" ? 1 : (schema.multipleOf ?? "any")} min={schema.minimum ?? schema.exclusiveMinimum} max={schema.maximum} placeholder={left} onInput={put} />;
  }
  if (shape === "date") return <input {...common} type="date" onInput={put} />;
  if (shape === "time") return <input {...common} type="datetime-local" onInput={put} title="UTC" />;
  if ((schema.maxLength ?? 0) > 300) return <textarea {...common} rows={3} placeholder={left} onInput={put} />;
  const known = hints(name, world);
  return (
    <>
      <input {...common} type="text" list={known.length ? `${id}-known` : undefined} placeholder={left} autocomplete="off" spellcheck={false} onInput={put} />
      {known.length > 0 && <datalist id={`${id}-known`}>{known.map(([key, label]) => <option key={key} value={key}>{label}</option>)}</datalist>}
    </>
  );
}

function List({ id, name, field, values, change, world }: { id: string; name: string; field: Field; values: string[]; change: (values: string[]) => void; world: World | null }) {
  const item = fieldOf(field.schema.items ?? {}, field.schema);
  const shown = values.length ? values : [""];
  return (
    <div class="list-input">
      {shown.map((value, at) => (
        <span key={at}>
          <Input id={at ? `${id}-${at}` : id} name={name} field={item} value={value} world={world} required={false} change={(next) => change(shown.map((one, other) => (other === at ? String(next) : one)))} />
          <button type="button" class="quiet" aria-label={`remove item ${at + 1}`} onClick={() => change(shown.filter((_, other) => other !== at))}>×</button>
        </span>
      ))}
      <button type="button" class="quiet" onClick={() => change([...shown, ""])}>add one</button>
    </div>
  );
}

export function ToolForm({ tool, server, seed, playing }: { tool: Tool; server: string; seed: number; playing: Playing }) {
  const schema = tool.input_schema;
  const fields = useMemo(() => Object.entries(schema.properties ?? {}).map(([name, given]) => ({ name, given, field: fieldOf(given, schema), required: schema.required?.includes(name) ?? false })), [tool]);
  const [values, setValues] = useState<Values>({});
  const [raw, setRaw] = useState<string | null>(null);
  const world = useAsk(`${server} ${seed} ${playing.session} ${playing.made.length}`, () => data.world(server, seed, playing.session));
  const input = (): Fields => {
    const out: Fields = {};
    for (const { name, field } of fields) {
      const value = valueOf(field, values[name], schema);
      if (value !== undefined) out[name] = value;
    }
    return out;
  };
  const typed = raw === null ? undefined : parsed(raw);
  const wrong = raw !== null && (typed === null || typeof typed !== "object" || Array.isArray(typed));
  const send = (event: Event): void => {
    event.preventDefault();
    if (!wrong) void playing.call(tool.name, tool.writes, raw === null ? input() : (typed as Fields));
  };
  return (
    <form class="tool-form" onSubmit={send} noValidate aria-label={`try ${tool.name}`}>
      {raw === null && !fields.length && <p class="silent">It takes no arguments.</p>}
      {raw === null && fields.map(({ name, given, field, required }) => (
        <div class="form-row" key={name}>
          <label for={`arg-${name}`}>{name}{required ? <sup title="required">*</sup> : null}</label>
          <div>
            <Input id={`arg-${name}`} name={name} field={field} value={values[name]} world={world.value} required={required} change={(next) => setValues((last) => ({ ...last, [name]: next }))} />
            <p class="about" id={`arg-${name}-about`}>{given.description} <small>{allows(given)}</small></p>
          </div>
        </div>
      ))}
      {raw !== null && <textarea class="raw" aria-label="arguments as JSON" rows={8} spellcheck={false} value={raw} onInput={(event) => setRaw(event.currentTarget.value)} />}
      {wrong && <p class="wrong">This is not a JSON object.</p>}
      <div class="form-foot">
        <button type="submit" class="main" disabled={playing.busy || wrong}>Call {tool.name}</button>
        <button type="button" class="quiet" onClick={() => setRaw(raw === null ? JSON.stringify(input(), null, 2) : null)}>{raw === null ? "as JSON" : "as a form"}</button>
        {Object.keys(values).length > 0 && raw === null && <button type="button" class="quiet" onClick={() => setValues({})}>clear</button>}
      </div>
    </form>
  );
}
