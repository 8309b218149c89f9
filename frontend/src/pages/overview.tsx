/** What is in the folders: every source on one line, and what is wrong with those that cannot be read. */

import { useState } from "preact/hooks";
import { data } from "../data";
import { useKeys } from "../keys";
import { grouped } from "../parts/marks";
import { Nothing } from "../parts/say";
import { go, link } from "../route";
import { home, useSources } from "../sources";

const size = (bytes: number): string =>
  bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;

const ORDER = ["examples", "rollouts", "run", "problem"];
const NOUN: Record<string, string> = { examples: "example", rollouts: "rollout", run: "step" };

export function OverviewPage() {
  const known = useSources();
  const shown = known.sources.filter((source) => source.run === undefined || source.run === null)
    .sort((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind) || one.id - other.id);
  const [cursor, setCursor] = useState(0);
  const move = (by: number): void => setCursor(Math.max(0, Math.min(shown.length - 1, cursor + by)));
  const open = (): void => {
    const source = shown[cursor];
    if (source && source.kind !== "problem") go(link(home(source)));
  };
  useKeys({ j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: open, o: open });
  return (
    <div class="page">
      <header class="top"><h1>Examples & rollouts</h1><p class="lead">What is in {data.frozen ? "this report" : "the folders you named"}.</p>{known.worlds ? <p class="tally"><a href={link(["servers"])}>{grouped(known.worlds)} drawn worlds</a> among the servers</p> : null}</header>
      {!shown.length && (data.frozen ? <Nothing>This report holds no examples and no rollouts.</Nothing> :
        <Nothing>
          There is nothing here yet. Write some: <code>provegym rollout --policy oracle --data corpus --out rollouts.jsonl</code>, then{" "}
          <code>provegym view FOLDER</code>. The servers and their graphs can be seen without any file.
        </Nothing>
      )}
      {shown.length > 0 && (
        <ul class="sources">
          {shown.map((source, at) => (
            <li key={source.id} class={`source ${source.kind} ${at === cursor ? "cursor" : ""}`}>
              <a href={source.kind === "problem" ? undefined : link(home(source))} aria-disabled={source.kind === "problem"}>
                <span class={`kind ${source.kind}`}>{source.kind === "problem" ? "not readable" : source.kind}</span>
                <span class="source-name">{source.name}</span>
                <span class="count">{source.kind === "problem" ? "" : `${grouped(source.count)} ${NOUN[source.kind]}${source.count === 1 ? "" : "s"}`}{source.done ? "" : " so far"}</span>
                <span class="bytes">{source.bytes ? size(source.bytes) : ""}</span>
                {source.problem && <span class="reason">{source.problem}</span>}
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
