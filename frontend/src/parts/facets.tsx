/** Faceted filters of a list: each value with the number of rows it would leave. */

import { useState } from "preact/hooks";
import type { Counts, Facets, Query } from "../data";
import { TOP_REWARD } from "../data/select";
import { Histogram } from "./histogram";
import { grouped, kindName, words } from "./marks";

const FEW = 7;
const NAMES: [keyof Facets & string, string][] = [
  ["kind", "Kind"], ["server", "Server"], ["error", "Error"], ["knob", "Knob"], ["policy", "Policy"], ["ending", "Ending"],
];
/** The filters by success: name, title, and the words for yes and no. */
const SUCCESS: [keyof Facets & string, string, string, string][] = [
  ["success", "Success", "yes", "no"], ["state", "State", "right", "wrong"], ["answer", "Answer", "right", "wrong"], ["ended", "Ended", "yes", "no"],
];

export type Refine = (changes: Query) => void;

function Facet({ name, title, counts, query, refine, label }: {
  name: string; title: string; counts: Counts; query: Query; refine: Refine; label?: ((value: string) => string) | undefined;
}) {
  const [all, setAll] = useState(false);
  const chosen = query[name] ?? [];
  const values = Object.entries(counts).filter(([value, count]) => count || chosen.includes(value));
  for (const value of chosen) if (!(value in counts)) values.push([value, 0]);
  values.sort(([one, a], [other, b]) => b - a || one.localeCompare(other));
  if (!values.length || (values.length === 1 && !chosen.length)) return null;
  const shown = all ? values : values.filter(([value], at) => at < FEW || chosen.includes(value));
  const flip = (value: string): void =>
    refine({ [name]: chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value] });
  const most = Math.max(1, ...values.map(([, count]) => count));
  return (
    <fieldset class="facet">
      <legend>{title}{chosen.length > 0 && <button type="button" class="clear" onClick={() => refine({ [name]: [] })}>clear</button>}</legend>
      {shown.map(([value, count]) => (
        <label key={value} class={chosen.includes(value) ? "chosen" : ""}>
          <input type="checkbox" checked={chosen.includes(value)} onChange={() => flip(value)} />
          <span class="value">{label ? label(value) : words(value) || "none"}</span>
          <span class="count">{grouped(count)}</span>
          <i class="share" style={{ width: `${(count / most) * 100}%` }} />
        </label>
      ))}
      {values.length > FEW && (
        <button type="button" class="more" onClick={() => setAll(!all)}>{all ? "fewer" : `${values.length - FEW} more`}</button>
      )}
    </fieldset>
  );
}

const one = (query: Query, name: string): string => query[name]?.[0] ?? "";
const value = (text: string): string[] => (text ? [text] : []);

export function FacetPanel({ facets, query, refine }: { facets: Facets; query: Query; refine: Refine }) {
  const calls = Object.keys(facets.calls).map(Number);
  const longest = Math.min(40, Math.max(1, ...calls));
  const byCalls = Array.from({ length: longest + 1 }, (_, at) => facets.calls[at] ?? 0);
  const paid = facets.reward.some((count) => count > 0) || one(query, "least") || one(query, "most");
  return (
    <div class="facets">
      {paid && (
        <Histogram title="Reward" counts={facets.reward} step={0.05}
          edges={(at) => [(at * TOP_REWARD) / facets.reward.length, ((at + 1) * TOP_REWARD) / facets.reward.length]}
          least={one(query, "least")} most={one(query, "most")}
          choose={(least, most) => refine({ least: value(least), most: value(most) })} />
      )}
      {SUCCESS.map(([name, title, yes, no]) => (
        <Facet key={name} name={name} title={title} counts={facets[name] as Counts} query={query} refine={refine} label={(v) => (v === "1" ? yes : no)} />
      ))}
      {NAMES.slice(0, 3).map(([name, title]) => (
        <Facet key={name} name={name} title={title} counts={facets[name] as Counts} query={query} refine={refine} label={name === "kind" ? kindName : undefined} />
      ))}
      {calls.length > 1 && (
        <Histogram title="Calls" counts={byCalls} step={1} edges={(at) => [at, at]}
          least={one(query, "calls_least")} most={one(query, "calls_most")}
          choose={(least, most) => refine({ calls_least: value(least), calls_most: value(most) })} />
      )}
      {NAMES.slice(3).map(([name, title]) => (
        <Facet key={name} name={name} title={title} counts={facets[name] as Counts} query={query} refine={refine} />
      ))}
    </div>
  );
}
