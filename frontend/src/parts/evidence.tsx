/** Beside a graph: what was picked, and the two runs that prove each edge. */

import { useState } from "preact/hooks";
import type { Graph, GraphEdge, Item, Trial } from "../data";
import type { Picked } from "./canvas";
import { Arguments } from "./call";
import { literals } from "./gold";
import { StepBadge } from "./marks";
import { gist } from "./text";
import { link } from "../route";

const MANY = 60;

function Runs({ title, runs, tone }: { title: string; runs: Trial[]; tone: string }) {
  return (
    <div class={`trial ${tone}`}>
      <h4>{title}</h4>
      {!runs.length && <p class="silent">nothing was called</p>}
      <ol>
        {runs.map((run, at) => (
          <li key={at} class={run.ok ? "ok" : "failed"}>
            <span class="sign">{run.ok ? "✓" : "✗"}</span>
            <span><span class="tool">{run.tool}</span> <Arguments values={run.arguments} /><span class="gist">{gist(run.result)}</span></span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Proof({ edge, bare }: { edge: GraphEdge; bare: boolean }) {
  return (
    <article class={`proof ${edge.kind}`}>
      <p class="claim">
        {edge.kind === "explicit"
          ? <><code>{edge.argument}</code> of <b>{edge.target}</b> works with the value at <code>{edge.pointer || "/"}</code> that <b>{edge.source}</b> returned.</>
          : <>With the same arguments <b>{edge.target}</b> fails unless <b>{edge.source}</b> came first.</>}
        {edge.seed === undefined ? null : <span class="aside"> world {edge.seed}</span>}
      </p>
      <Runs title={`with ${edge.source}`} runs={edge.with_source} tone="with" />
      {bare ? <p class="silent">Without it the call failed. A world file keeps the call that worked.</p> : <Runs title="without" runs={edge.without} tone="without" />}
    </article>
  );
}

interface Props {
  graph: Graph;
  chain: Item | null;
  picked: Picked | null;
  pick: (next: Picked | null) => void;
  drop: () => void;
}

export function Evidence({ graph, chain, picked, pick, drop }: Props) {
  if (picked && "source" in picked) {
    const edges = graph.edges.filter((edge) => edge.source === picked.source && edge.target === picked.target && edge.kind === picked.kind);
    return (
      <aside class="evidence" aria-label="evidence">
        <h2>{picked.source} → {picked.target}</h2>
        <p class="sub">{picked.kind === "explicit" ? "explicit: a value is handed over" : "implicit: the state must be right"} <button type="button" class="quiet" onClick={() => pick(null)}>close</button></p>
        {!edges.length && <p class="silent">There is no such edge.</p>}
        {edges.slice(0, MANY).map((edge, at) => <Proof key={at} edge={edge} bare={graph.bare ?? false} />)}
      </aside>
    );
  }
  if (picked) return <Neighbours graph={graph} tool={picked.tool} pick={pick} />;
  return (
    <aside class="evidence" aria-label="evidence">
      {chain && <ChainSteps chain={chain} drop={drop} />}
      <Edges graph={graph} pick={pick} />
    </aside>
  );
}

function EdgeRow({ edge, text, pick }: { edge: GraphEdge; text: string; pick: Props["pick"] }) {
  return (
    <button type="button" class={`edge-row ${edge.kind}`} onClick={() => pick({ source: edge.source, target: edge.target, kind: edge.kind })}>
      <i class={`k ${edge.kind}`} /><span>{text}</span><small>{edge.argument || "state"}</small>
    </button>
  );
}

function Neighbours({ graph, tool, pick }: { graph: Graph; tool: string; pick: Props["pick"] }) {
  const needs = graph.edges.filter((edge) => edge.target === tool), serves = graph.edges.filter((edge) => edge.source === tool);
  return (
    <aside class="evidence" aria-label="evidence">
      <h2>{tool}</h2>
      <p class="sub"><a href={link(["servers", graph.server], { tool })}>see the tool</a> <button type="button" class="quiet" onClick={() => pick(null)}>close</button></p>
      <h3>Needs</h3>
      {needs.length ? needs.map((edge, at) => <EdgeRow key={at} edge={edge} text={edge.source} pick={pick} />) : <p class="silent">no other tool</p>}
      <h3>Is needed by</h3>
      {serves.length ? serves.map((edge, at) => <EdgeRow key={at} edge={edge} text={edge.target} pick={pick} />) : <p class="silent">no other tool</p>}
    </aside>
  );
}

function Edges({ graph, pick }: { graph: Graph; pick: Props["pick"] }) {
  const [typed, setTyped] = useState("");
  const found = graph.edges.filter((edge) => `${edge.source} ${edge.target} ${edge.argument ?? ""}`.includes(typed));
  const explicit = graph.edges.filter((edge) => edge.kind === "explicit").length;
  return (
    <>
      <p class="sub"><b>{graph.nodes.length}</b> tools, <b>{explicit}</b> explicit and <b>{graph.edges.length - explicit}</b> implicit dependencies. Point at a tool or an edge; click to see its evidence.</p>
      <input type="search" placeholder="Find an edge …" aria-label="find an edge" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      <div class="edge-rows">
        {graph.nodes.map(({ id }) => {
          const into = found.filter((edge) => edge.target === id);
          return into.length > 0 && (
            <section key={id}>
              <h4>{id} needs</h4>
              {into.map((edge, at) => <EdgeRow key={at} edge={edge} text={edge.source} pick={pick} />)}
            </section>
          );
        })}
        {!found.length && <p class="silent">No edge fits.</p>}
      </div>
    </>
  );
}

function ChainSteps({ chain, drop }: { chain: Item; drop: () => void }) {
  return (
    <section class="chain-steps">
      <h2>{chain.example.id}</h2>
      <p class="sub">The steps of this example, lit up. <button type="button" class="quiet" onClick={drop}>put out</button></p>
      <ol>{chain.gold.map((step) => <li key={step.step}><StepBadge step={step.step} /> <span class="tool">{step.tool}</span> <Arguments values={literals(step.arguments)} /></li>)}</ol>
    </section>
  );
}
