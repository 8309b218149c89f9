/** A server's tools: what they take, what they say, and a form to try them. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { data, type Schema, type Server, type Tool, type WorldFile } from "../data";
import { useKeys } from "../keys";
import { useNarrow } from "../narrow";
import { CallView } from "../parts/call";
import { ToolForm } from "../parts/form";
import { Tag } from "../parts/marks";
import { Nothing } from "../parts/say";
import { Code } from "../parts/text";
import { allows } from "../parts/schema";
import { first, type Route } from "../route";
import type { Playing } from "./server";

interface Props {
  server: Server;
  seed: number;
  playing: Playing;
  route: Route;
  set: (changes: Record<string, string>) => void;
}

export function Tools({ server, seed, playing, route, set }: Props) {
  const [typed, setTyped] = useState("");
  const found = server.tools.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(typed.toLowerCase()));
  const chosen = server.tools.find((tool) => tool.name === first(route, "tool"));
  const move = (by: number): void => {
    const at = found.findIndex((tool) => tool === chosen);
    const next = found[Math.max(0, Math.min(found.length - 1, at + by))];
    if (next) set({ tool: next.name });
  };
  useKeys({ j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), Escape: () => set({ tool: "" }) });
  return (
    <div class={`tools-body ${chosen ? "chosen" : ""}`}>
      <nav class="tool-list" aria-label="tools">
        <input type="search" placeholder="Find a tool …" aria-label="search" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <ul>
          <li><button type="button" aria-current={chosen ? undefined : "true"} onClick={() => set({ tool: "" })}>About this world</button></li>
          {found.map((tool) => (
            <li key={tool.name}>
              <button type="button" class={tool.writes ? "write" : "read"} aria-current={tool === chosen ? "true" : undefined} onClick={() => set({ tool: tool.name })}>
                <i class={`k ${tool.writes ? "write" : "read"}`} /><span class="tool">{tool.name}</span>
              </button>
            </li>
          ))}
        </ul>
        {!found.length && <p class="silent">No tool fits.</p>}
      </nav>
      <div class="tool-page">
        {chosen && <button type="button" class="quiet to-list" onClick={() => set({ tool: "" })}>‹ All tools</button>}
        {chosen ? <One key={chosen.name} tool={chosen} server={server.name} seed={seed} playing={playing} /> : <About server={server} />}
      </div>
      {!data.frozen && <Log playing={playing} />}
    </div>
  );
}

/** A part of a page that a phone shows folded. */
function Folded({ title, children }: { title: string; children: ComponentChildren }) {
  const narrow = useNarrow();
  return <details class="fold" open={!narrow}><summary><h3>{title}</h3></summary>{children}</details>;
}

function About({ server }: { server: Server }) {
  return (
    <section class="about">
      <p class="summary">{server.summary}</p>
      {server.rules && <Folded title="Rules"><div class="rules">{server.rules.split(/\n\s*\n/).map((part, at) => <p key={at}>{part}</p>)}</div></Folded>}
      {server.records?.length ? (
        <Folded title="Records"><dl class="takes">{server.records.map((one) => <div key={one.table}><dt>{one.table}</dt><dd>{one.about}</dd></div>)}</dl></Folded>
      ) : null}
      {server.world && <Drawn world={server.world} />}
      <p class="silent">Choose a tool{data.frozen ? "." : " to try it on a world of its own: whatever you call can be undone."}</p>
    </section>
  );
}

/** What the file of a drawn world says: where it comes from, its admission, its spec. */
function Drawn({ world }: { world: WorldFile }) {
  const { admission } = world;
  const figures = Object.entries(admission?.figures ?? {});
  return (
    <>
      <h3>Admission</h3>
      <p>{admission ? (admission.admitted ? "Admitted." : `Refused: ${(admission.reasons ?? []).join(", ")}. ${(admission.details ?? []).join(" ")}`) : "Not judged yet: run provegym worlds admit."}</p>
      {figures.length > 0 && <dl class="figures">{figures.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>}
      <p class="silent">Source: {world.source}. Hash of the spec: <code>{world.hash}</code></p>
      <details class="others"><summary>Spec</summary><Code text={world.spec} /></details>
    </>
  );
}

function One({ tool, server, seed, playing }: { tool: Tool; server: string; seed: number; playing: Playing }) {
  return (
    <section>
      <h2 class="tool-title"><span class="tool">{tool.name}</span> {tool.writes ? <Tag tone="write">{tool.destructive ? "writes, destructive" : "writes"}</Tag> : <Tag tone="read">reads</Tag>}</h2>
      <p class="description">{tool.description}</p>
      {data.frozen ? <Takes schema={tool.input_schema} /> : <ToolForm tool={tool} server={server} seed={seed} playing={playing} />}
      <details class="others"><summary>Input schema</summary><Code text={JSON.stringify(tool.input_schema, null, 2)} /></details>
      {tool.output_schema && <details class="others"><summary>Output schema</summary><Code text={JSON.stringify(tool.output_schema, null, 2)} /></details>}
    </section>
  );
}

/** Arguments as a table, where there is no form. */
function Takes({ schema }: { schema: Schema }) {
  const fields = Object.entries(schema.properties ?? {});
  if (!fields.length) return <p class="silent">It takes no arguments.</p>;
  return (
    <dl class="takes">
      {fields.map(([name, field]) => (
        <div key={name}><dt>{name}{schema.required?.includes(name) ? <sup title="required">*</sup> : null}</dt><dd>{field.description} <small>{allows(field)}</small></dd></div>
      ))}
    </dl>
  );
}

function Log({ playing }: { playing: Playing }) {
  return (
    <aside class="log" aria-label="calls made">
      <h3>Calls made</h3>
      {!playing.made.length && <Nothing>Nothing has been called. Results and changed records appear here, the last call first.</Nothing>}
      {playing.made.map((call, at) => (
        <div key={at} class="logged">
          <span class="number">{at + 1}</span>
          {call.reset ? <p class="silent back">back to the seed</p> : <CallView call={{ ...call, checks: undefined }} open={at === playing.made.length - 1} />}
          {call.writes && call.ok && !call.diff.length && <p class="silent">changed nothing</p>}
        </div>
      )).reverse()}
    </aside>
  );
}
