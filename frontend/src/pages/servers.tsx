/** The servers, by category; then the drawn worlds, of which there may be a thousand. */

import { useState } from "preact/hooks";
import { useAsk } from "../ask";
import { data, type ServerCard } from "../data";
import { useKeys } from "../keys";
import { grouped, Tag } from "../parts/marks";
import { Answer, Nothing } from "../parts/say";
import { go, link } from "../route";

/** Cards of a category that are shown at first, and with each click on "more". */
const SOME = 24;

const fits = (one: ServerCard, typed: string): boolean => {
  const text = `${one.name} ${one.title} ${one.category} ${one.summary} ${one.source ?? ""} ${one.verdict ?? ""}`.toLowerCase();
  return typed.toLowerCase().split(/\s+/).every((word) => text.includes(word));
};

export function ServersPage() {
  const asked = useAsk("servers", () => data.servers());
  const [typed, setTyped] = useState("");
  return (
    <div class="page servers-page">
      <header class="top">
        <h1>Servers</h1>
        <label class="search"><input type="search" value={typed} placeholder="Find a server …" aria-label="search" onInput={(event) => setTyped(event.currentTarget.value)} /><kbd>/</kbd></label>
        <p class="tally">{asked.value && <><b>{grouped(asked.value.length)}</b> worlds, <b>{grouped(asked.value.reduce((sum, one) => sum + one.tools, 0))}</b> tools</>}</p>
      </header>
      <Answer asked={asked} what="the servers">
        {(servers) => <Cards key={typed} servers={servers.filter((one) => fits(one, typed))} />}
      </Answer>
    </div>
  );
}

function Cards({ servers }: { servers: ServerCard[] }) {
  const [cursor, setCursor] = useState(-1);
  const [most, setMost] = useState(SOME);
  const categories = [...new Set(servers.map((one) => one.category))];
  const of = (category: string): ServerCard[] => servers.filter((one) => one.category === category);
  const order = categories.flatMap((category) => of(category).slice(0, most));
  const move = (by: number): void => setCursor(Math.max(0, Math.min(order.length - 1, cursor + by)));
  const open = (): void => { const one = order[cursor]; if (one) go(link(["servers", one.name])); };
  useKeys({ j: () => move(1), ArrowDown: () => move(1), ArrowRight: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), ArrowLeft: () => move(-1), Enter: open, o: open });
  if (!servers.length) return <Nothing>{data.frozen ? "This report carries no server." : "No server fits."}</Nothing>;
  return (
    <div class="categories">
      {categories.map((category) => (
        <section key={category} aria-label={category}>
          <h2>{category}{of(category).length > SOME && <small> {grouped(of(category).length)}</small>}</h2>
          <div class="cards">
            {of(category).slice(0, most).map((one) => (
              <a key={one.name} class={`card ${one.drawn ? "drawn" : ""} ${order[cursor] === one ? "cursor" : ""}`} href={link(["servers", one.name])}>
                <h3>{one.title || one.name}</h3>
                <p>{one.summary}</p>
                <div class="card-foot">
                  <span class="blend" title={`${one.reads} read, ${one.writes} write`}><i class="read" style={{ flexGrow: one.reads }} /><i class="write" style={{ flexGrow: one.writes }} /></span>
                  <span>{one.reads} read · {one.writes} write</span>
                  {one.verdict && one.verdict !== "admitted" ? <Tag tone={one.verdict === "not judged" ? "" : "warn"}>{one.verdict}</Tag> : null}
                </div>
              </a>
            ))}
            {of(category).length > most && (
              <button type="button" class="more" onClick={() => setMost(most + 4 * SOME)}>{grouped(of(category).length - most)} more; type above to find one</button>
            )}
          </div>
        </section>
      ))}
    </div>
  );
}
