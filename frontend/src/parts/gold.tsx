/** The ground truth beside a conversation: steps, what they need, and who served them. */

import type { Evidence, GoldStep, Item, Json } from "../data";
import { Arguments } from "./call";
import { Changes } from "./changes";
import { StepBadge, Tag, useLit } from "./marks";

/** Why nothing is to be called in a turn; what stands in backticks is a name. */
export function Why({ item, turn }: { item: Item; turn: number }) {
  const said = item.why?.[turn];
  if (!said) return <p class="why-none">Nothing is to be called here.</p>;
  return <p class="why-none">{said.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</p>;
}

/** Arguments with references to earlier results shown by their literal. */
export function literals(values: Record<string, Json> | undefined): Record<string, Json> {
  const plain = (value: Json): Json =>
    value && typeof value === "object" && !Array.isArray(value) && "$from" in value ? (value["literal"] ?? null) : value;
  return Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, plain(value)]));
}

function Needs({ step }: { step: GoldStep }) {
  if (!step.needs?.length) return null;
  return (
    <span class="needs">
      after {step.needs.map((need) => (
        <span key={need.step} title={need.kind === "explicit" ? "takes a value that step yields" : "fails unless that step came first"}>
          <StepBadge step={need.step} /><small>{need.kind === "explicit" ? "value" : "state"}</small>
        </span>
      ))}
    </span>
  );
}

const plainly = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/** What a read is needed for: the facts that its result shows. */
function Shows({ evidence }: { evidence: Evidence | null }) {
  if (!evidence) return null;
  const facts = evidence.facts ?? [];
  if (!facts.length) return evidence.tied ? <p class="shows silent">Only this very call serves.</p> : null;
  return (
    <details class="others shows">
      <summary>shows {facts.length === 1 ? "a fact" : `${facts.length} facts`}; {evidence.tied ? "only this very call serves" : "any read that shows as much serves"}</summary>
      {facts.map((fact, at) => (
        <p key={at}>
          {Object.keys(fact.fields ?? {}).length > 0 && <Arguments values={fact.fields ?? {}} />}
          {fact.about?.length ? <span class="about">about {fact.about.map(plainly).join(", ")}</span> : null}
        </p>
      ))}
    </details>
  );
}

function GoldView({ step, item }: { step: GoldStep; item: Item }) {
  const served = item.served.find((one) => one.step === step.step);
  const lit = useLit(step.step);
  return (
    <li class={`gold ${lit.class}`} onMouseEnter={lit.onMouseEnter} onMouseLeave={lit.onMouseLeave}>
      <div class="gold-head">
        <StepBadge step={step.step} />
        <span class="tool">{step.tool}</span>
        {step.writes && <Tag tone="write">writes</Tag>}
        {item.rollout && (served
          ? <span class={`by ${served.equal >= 1 && served.in_order ? "yes" : "partly"}`}>call {served.call + 1}</span>
          : <span class="by no">not served</span>)}
      </div>
      <Arguments values={literals(step.arguments)} />
      <Needs step={step} />
      <Shows evidence={step.evidence} />
      {step.alternatives?.length > 0 && (
        <details class="others">
          <summary>{step.alternatives.length} other {step.alternatives.length === 1 ? "call does" : "calls do"} as well</summary>
          {step.alternatives.map((one, at) => (
            <p key={at}><span class="tool">{one.tool}</span> <Arguments values={literals(one.arguments)} /></p>
          ))}
        </details>
      )}
    </li>
  );
}

export function Gold({ item }: { item: Item }) {
  const turns = [...new Set([...item.example.turns.keys(), ...item.gold.map((step) => step.turn)])].sort((one, other) => one - other);
  const stepsOf = (turn: number): GoldStep[] => item.gold.filter((step) => step.turn === turn);
  const paths = item.example.paths?.length ?? 0;
  const path = item.path ?? item.rollout?.reward?.path ?? 0;
  return (
    <section class="golds" aria-label="ground truth">
      <h3>
        Ground truth
        {paths > 1 && <span class="aside">path {path + 1} of {paths}</span>}
      </h3>
      {!item.gold.length && <p class="none-called">Nothing is to be called.</p>}
      {turns.map((turn) => (
        <div key={turn}>
          {turns.length > 1 && <div class="turn-name">turn {turn + 1}</div>}
          {stepsOf(turn).length
            ? <ol>{stepsOf(turn).map((step) => <GoldView key={step.step} step={step} item={item} />)}</ol>
            : <Why item={item} turn={turn} />}
        </div>
      ))}
      <Outcome item={item} />
    </section>
  );
}

function Outcome({ item }: { item: Item }) {
  const wanted = item.example.outcome ?? [];
  const made = item.rollout?.outcome;
  if (!wanted.length && !made?.length) return null;
  return (
    <details class="others outcome">
      <summary>The world at the end: {wanted.length} {wanted.length === 1 ? "record" : "records"} to change{made ? `, ${made.length} changed` : ""}</summary>
      <h4>Wanted</h4>
      <Changes changes={wanted} />
      {made && <><h4>Made</h4>{made.length ? <Changes changes={made} /> : <p class="silent">nothing</p>}</>}
    </details>
  );
}
