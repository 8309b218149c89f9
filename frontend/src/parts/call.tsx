/** One call: which step it serves, its arguments, what it came to and what it changed. */

import { useState } from "preact/hooks";
import type { Call, Change, Fields, Json, Served } from "../data";
import { Changes } from "./changes";
import { StepBadge, Tag, useLit } from "./marks";
import { JsonView, Result, gist, short } from "./text";

export interface ShownCall {
  tool: string;
  arguments: Fields | null;
  raw?: string;
  writes?: boolean;
  checks?: Call["checks"];
  error?: string | null;
  result?: string;
  diff?: Change[];
}

export function Arguments({ values }: { values: Fields | null | undefined }) {
  const told = Object.entries(values ?? {});
  if (!told.length) return <span class="args empty">no arguments</span>;
  return (
    <span class="args">
      {told.map(([name, value]) => (
        <span class="arg" key={name}><span class="j-name">{name}</span>=<Value value={value} /></span>
      ))}
    </span>
  );
}

function Value({ value }: { value: Json }) {
  return <span class={typeof value === "string" ? "j-text" : "j-plain"}>{short(value, 70)}</span>;
}

const CHECKS = [["shown", "the tool was shown"], ["fits", "the arguments fit its schema"], ["ran", "it ran"]] as const;

function Thirds({ checks }: { checks: Call["checks"] }) {
  const passed = CHECKS.filter(([name]) => checks?.[name]).length;
  const said = CHECKS.map(([name, what]) => `${checks?.[name] ? "✓" : "✗"} ${what}`).join("\n");
  return (
    <span class="thirds" title={said} aria-label={`valid by ${passed} of 3 checks`}>
      {CHECKS.map(([name]) => <i class={checks?.[name] ? "yes" : "no"} key={name} />)}
    </span>
  );
}

/** Which call earned what, one line each. */
export function Ledger({ calls, served }: { calls: Call[]; served: Served[] }) {
  return (
    <ol class="ledger">
      {calls.map((call, at) => <Entry key={at} number={at + 1} call={call} served={served.find((one) => one.call === at)} />)}
    </ol>
  );
}

function Entry({ number, call, served }: { number: number; call: Call; served: Served | undefined }) {
  const lit = useLit(served?.step ?? null);
  const worth = !served ? "serves no step" : !served.in_order ? "too early" : served.equal < 1 ? `${Math.round(served.equal * 100)} % equal` : "";
  return (
    <li class={lit.class} onMouseEnter={lit.onMouseEnter} onMouseLeave={lit.onMouseLeave} title={served?.how}>
      <span class="number">{number}</span><span class="tool">{call.tool || "?"}</span>
      {worth && <span class={`why ${served ? "partly" : ""}`}>{worth}</span>}
      <Thirds checks={call.checks} /><StepBadge step={served?.step ?? null} />
    </li>
  );
}

export function CallView({ call, served, judged, open: whole }: {
  call: ShownCall;
  served?: Served | undefined;
  judged?: boolean;
  open?: boolean;
}) {
  const [flipped, setFlipped] = useState(false);
  const open = Boolean(whole) !== flipped;
  const lit = useLit(judged ? (served?.step ?? null) : null);
  const failed = Boolean(call.error);
  return (
    <section
      class={`call ${lit.class} ${failed ? "failed" : ""} ${open ? "open" : ""}`}
      onMouseEnter={lit.onMouseEnter} onMouseLeave={lit.onMouseLeave}
    >
      <button type="button" class="call-head" aria-expanded={open} onClick={() => setFlipped(!flipped)}>
        {judged && <StepBadge step={served?.step ?? null} />}
        <span class="flow">
          <span class="tool">{call.tool || "?"}</span>
          {call.writes && <Tag tone="write">writes</Tag>}
          {!open && (call.arguments ? <Arguments values={call.arguments} /> : <span class="args raw">{short(call.raw ?? "", 120)}</span>)}
        </span>
        <span class="right">
          {call.error && <Tag tone="bad">{call.error}</Tag>}
          {call.checks && <Thirds checks={call.checks} />}
        </span>
      </button>
      {call.result !== undefined && !open && (
        <p class={`gist ${failed ? "bad" : ""}`} onClick={() => setFlipped(!flipped)}>{gist(call.result)}</p>
      )}
      {served && <Worth served={served} />}
      {open && (
        <div class="call-body">
          <h4>Arguments</h4>
          {call.arguments ? <JsonView value={call.arguments} /> : <Result text={call.raw ?? ""} />}
          <h4>{failed ? "Error" : "Result"}</h4>
          <Result text={call.result ?? ""} />
        </div>
      )}
      <Changes changes={call.diff} title="what this call changed" />
    </section>
  );
}

function Worth({ served }: { served: Served }) {
  if (served.in_order && served.equal >= 1) return null;
  const parts = [];
  if (served.equal < 1) parts.push(served.how || `${Math.round(served.equal * 100)} % of its arguments are equal`);
  if (!served.in_order) parts.push("not after what it needs");
  return <p class="worth">serves step {served.step + 1}: {parts.join("; ")}</p>;
}
