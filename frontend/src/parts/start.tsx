/** What to do next: commands for what is not in the folders yet. */

import type { Source } from "../data";
import { link } from "../route";

interface Hint {
  what: string;
  command: string;
}

/** Commands that make what is missing, each with what it is for. */
export function hints(examples: Source[], rollouts: Source[], runs: Source[]): Hint[] {
  const found: Hint[] = [];
  const corpus = examples[0]?.path.replace(/\/[^/]*$/, "") || "corpus";
  if (!examples.length && !rollouts.length && !runs.length) {
    found.push({ what: "See one task on a server, call by call.", command: "provegym demo banking" });
    found.push({ what: "See everything once in about five minutes: examples, a small model before and after training, and some steps of GRPO.", command: "provegym quickstart" });
  }
  if (!examples.length && !rollouts.length) found.push({ what: "Make a small corpus of verified examples; it takes less than a minute.", command: "provegym synth --size 40 --out corpus" });
  if (rollouts.length < 2) {
    const policy = rollouts.length ? "noop" : "oracle";
    found.push({
      what: rollouts.length ? "Play the same examples with another policy, so that there is something to compare." : "Play the examples with a policy: a script, an endpoint's URL, or a class of yours.",
      command: `provegym rollout --policy ${policy} --data ${corpus} --out ${policy}.jsonl`,
    });
  }
  if (!runs.length) found.push({ what: "Train a small model; its curves grow on this page.", command: "provegym train tiny --out runs/tiny" });
  return found;
}

export function Start({ examples, rollouts, runs }: { examples: Source[]; rollouts: Source[]; runs: Source[] }) {
  const found = hints(examples, rollouts, runs);
  if (!found.length) return null;
  const empty = !examples.length && !rollouts.length && !runs.length;
  return (
    <section class="panel start" aria-label="where to start">
      <h2>{empty ? "Where to start" : "What you can do next"}</h2>
      <ol>{found.map(({ what, command }) => <li key={command}><p>{what}</p><pre tabIndex={0}>{command}</pre></li>)}</ol>
      <p class="silent">This page shows new files by itself. Without any file it shows <a href={link(["servers"])}>the servers</a>, where each tool can be tried, and <a href={link(["graph"])}>the graph</a> of which tool needs which.</p>
    </section>
  );
}
