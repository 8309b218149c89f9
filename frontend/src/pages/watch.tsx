/** One example over a training run: its sampled rollout and reward at each step. */

import { useAsk } from "../ask";
import { data, type Run, type Watched } from "../data";
import { useKeys } from "../keys";
import { Conversation } from "../parts/conversation";
import { figure } from "../parts/marks";
import { Payment } from "../parts/payment";
import { Answer, Problem } from "../parts/say";
import { first, link, type Route } from "../route";

type Set = (changes: Record<string, string>) => void;

export function Watch({ id, samples, route, set }: { id: number; samples: Run["samples"]; route: Route; set: Set }) {
  const asked = useAsk(`${id} ${samples.length}`, () => data.watched(id));
  if (asked.error) return <Problem>{asked.error}</Problem>;
  return (
    <section class="watch" aria-label="sampled rollouts">
      <h2>Sampled rollouts</h2>
      {!samples.length && <p class="silent">This run has sampled no rollouts yet.</p>}
      {samples.length > 0 && (
        <p class="samples">{samples.map((sample) => <a key={sample.step} class="tag" href={link(["data", sample.file_source])}>step {sample.step} <small>×{sample.count}</small></a>)}</p>
      )}
      {asked.value && asked.value.length > 0 && <Strip examples={asked.value} route={route} set={set} />}
      {asked.value?.length === 0 && samples.length > 1 && <p class="silent">No example was sampled at more than one step.</p>}
    </section>
  );
}

const grade = (reward: number | null): string =>
  reward === null ? "none" : reward >= 1.235 ? "high" : reward >= 0.78 ? "good" : reward >= 0.39 ? "fair" : "low";

function Strip({ examples, route, set }: { examples: Watched[]; route: Route; set: Set }) {
  const chosen = examples.find((one) => one.id === first(route, "example")) ?? examples[0]!;
  const at = Math.max(0, Math.min(chosen.steps.length - 1, Number(first(route, "moment") || chosen.steps.length - 1)));
  const moment = chosen.steps[at];
  const move = (by: number): void => set({ moment: String(Math.max(0, Math.min(chosen.steps.length - 1, at + by))), example: chosen.id });
  useKeys({ n: () => move(1), p: () => move(-1) });
  return (
    <>
      <div class="strip-head">
        <label>Watch <select value={chosen.id} aria-label="example" onChange={(event) => set({ example: event.currentTarget.value, moment: "" })}>
          {examples.map((one) => <option key={one.id} value={one.id}>{one.id} ({one.steps.length})</option>)}
        </select></label>
        <span class="aside"><kbd>n</kbd> <kbd>p</kbd> through its steps</span>
      </div>
      <div class="strip" role="group" aria-label="steps of this example">
        {chosen.steps.map((one, number) => (
          <button type="button" key={number} class={`moment ${grade(one.reward)}`} aria-pressed={number === at} onClick={() => set({ moment: String(number), example: chosen.id })}
            aria-label={`step ${one.step}, reward ${figure(one.reward)}`}>
            <span class="stem"><i style={{ height: `${Math.max(3, ((one.reward ?? 0) / 1.3) * 100)}%` }} /></span>
            <span class="figure">{figure(one.reward)}</span><small>{one.step}</small>
          </button>
        ))}
      </div>
      {moment && <Moment source={moment.source} at={moment.at} />}
    </>
  );
}

function Moment({ source, at }: { source: number; at: number }) {
  const asked = useAsk(`${source}:${at}`, () => data.item(source, at, {}));
  return (
    <Answer asked={asked} what="this rollout">
      {(item) => (
        <div class="moment-body">
          <Conversation item={item} open={false} />
          <aside class="truth"><Payment item={item} /><a class="button" href={link(["data", source, at])}>Open by itself</a></aside>
        </div>
      )}
    </Answer>
  );
}
