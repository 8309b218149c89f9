/** A training run: curves that grow while it writes, and one example watched over its steps. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { sentence, useTicks } from "../ask";
import { data, type Metrics, type Run } from "../data";
import { Curve, type Line } from "../parts/curve";
import { grouped } from "../parts/marks";
import { Nothing, Problem, Waiting } from "../parts/say";
import { Code } from "../parts/text";
import { first, go, link, type Route } from "../route";
import { ofKind, useBrief, useSources } from "../sources";
import { Watch } from "./watch";

const LIVE = 1000;
const CHARTS: { title: string; names: string[]; spread?: string; more?: boolean; wide?: boolean }[] = [
  { title: "Reward", names: ["reward"], spread: "reward_std", wide: true },
  { title: "Its parts", names: ["validity", "coverage", "efficiency", "name", "argument", "progress", "waste"], wide: true },
  { title: "Success and its parts", names: ["success", "state", "answer", "ended"], wide: true },
  { title: "Calls that ran", names: ["valid_calls"] },
  { title: "Calls per task", names: ["calls"] },
  { title: "Tokens per second", names: ["tokens_per_second"] },
  { title: "Loss", names: ["loss"] },
  { title: "Token accuracy", names: ["mean_token_accuracy"] },
  { title: "Groups paid alike", names: ["equal_groups"], more: true },
  { title: "KL", names: ["kl"], more: true },
  { title: "Entropy", names: ["entropy"], more: true },
  { title: "Gradient norm", names: ["grad_norm"], more: true },
  { title: "Learning rate", names: ["learning_rate"], more: true },
  { title: "Seconds per step", names: ["seconds", "generation_seconds", "world_seconds", "training_seconds"], more: true },
];

export function RunsPage({ source, route }: { source: string | undefined; route: Route }) {
  const runs = ofKind(useSources(), "run");
  const brief = useBrief();
  const id = source === undefined ? runs[0]?.id : Number(source);
  if (id === undefined) {
    return (
      <div class="page"><header class="top"><h1>Runs</h1></header>
        <Nothing>No training run is here. A run is the folder that <code>provegym train RECIPE --out FOLDER</code> writes; its curves grow on this page while it runs.</Nothing>
      </div>
    );
  }
  return (
    <div class="page runs-page">
      <OneRun key={id} id={id} route={route}>
        {runs.length > 1 && (
          <>
            <select aria-label="run" value={id} onChange={(event) => go(link(["runs", event.currentTarget.value]))}>
              {runs.map((run) => <option key={run.id} value={run.id}>{brief(run)}</option>)}
            </select>
            <select aria-label="another run beside it" value={first(route, "beside")} onChange={(event) => go(link(["runs", id], { ...route.query, beside: event.currentTarget.value }), true)}>
              <option value="">alone</option>
              {runs.filter((run) => run.id !== id).map((run) => <option key={run.id} value={run.id}>beside {brief(run)}</option>)}
            </select>
          </>
        )}
      </OneRun>
    </div>
  );
}

/** The run so far; a run that was taken back to a checkpoint is read anew. */
function useRun(id: number | null): { run: Run | null; error: string } {
  const [run, setRun] = useState<Run | null>(null);
  const [error, setError] = useState("");
  const read = async (): Promise<void> => {
    if (id === null) return;
    try {
      const after = run?.steps.length ?? 0;
      const next = await data.run(id, after);
      const anew = next.total < after || (run !== null && next.generation !== run.generation);
      const steps = anew ? (await data.run(id, 0)).steps : [...(run?.steps ?? []), ...next.steps];
      setError("");
      setRun((last) => (last && !next.steps.length && last.running === next.running && steps.length === last.steps.length && last.samples.length === next.samples.length && !anew ? last : { ...next, steps }));
    } catch (problem) {
      setError(sentence(problem));
    }
  };
  useEffect(() => void read(), [id]);
  useTicks(data.frozen || id === null ? null : LIVE, read);
  return id === null ? { run: null, error: "" } : { run, error };
}

function smooth(values: (number | null)[], weight: number): (number | null)[] {
  let kept: number | null = null;
  return values.map((value) => {
    if (value === null) return null;
    kept = kept === null ? value : weight * kept + (1 - weight) * value;
    return kept;
  });
}

const pick = (steps: Metrics[], name: string): (number | null)[] =>
  steps.map((line) => { const value = line[name]; return typeof value === "number" ? value : null; });

const stepOf = (line: Metrics, at: number): number => (typeof line["step"] === "number" ? line["step"] : at);

/** Lines of metrics by the steps of both runs; empty where a run has none. */
function spreadOut(steps: number[], run: Run | null): Metrics[] {
  const known = new Map((run?.steps ?? []).map((line, at) => [stepOf(line, at), line]));
  return steps.map((step) => known.get(step) ?? {});
}

const OTHER = 2;
const shortName = (run: Run | null): string => run?.name.split("/").at(-1) ?? "";

function charts(steps: Metrics[], beside: Metrics[], [mine, other]: [string, string], weight: number): { title: string; lines: Line[]; more: boolean; wide: boolean }[] {
  return CHARTS.flatMap(({ title, names, spread, more, wide }) => {
    const own = names.map((name): Line => {
      const line = { name: other && names.length === 1 ? mine : name, values: smooth(pick(steps, name), weight) };
      return spread ? { ...line, spread: smooth(pick(steps, spread), weight) } : line;
    });
    const others = names.map((name, at): Line => ({
      name: names.length > 1 ? `${name}, ${other}` : other, values: smooth(pick(beside, name), weight), beside: names.length > 1 ? at : OTHER,
    }));
    const lines = [...own, ...others].filter((line) => line.values.some((value) => value !== null));
    return lines.length ? [{ title, lines, more: more ?? false, wide: wide ?? false }] : [];
  });
}

function OneRun({ id, route, children }: { id: number; route: Route; children: preact.ComponentChildren }) {
  const { run, error } = useRun(id);
  const weight = Number(first(route, "smooth") || 0);
  const set = (changes: Record<string, string>): void => go(link(["runs", id], { ...route.query, ...changes }), true);
  const other = useRun(first(route, "beside") ? Number(first(route, "beside")) : null).run;
  const steps = useMemo(() => [...new Set([run, other].flatMap((one) => (one?.steps ?? []).map(stepOf)))].sort((one, next) => one - next), [run, other]);
  const drawn = useMemo(() => charts(spreadOut(steps, run), spreadOut(steps, other), [shortName(run), shortName(other)], weight), [steps, run, other, weight]);
  if (!run) return error ? <Problem>{error}</Problem> : <Waiting what="the run" />;
  return (
    <>
      <header class="top">
        <h1>{run.name}</h1>
        {run.running ? <span class="live" role="status"><i /> running</span> : <span class="live over">ended</span>}
        <span class="aside">{grouped(run.total)}{run.planned ? ` of ${grouped(run.planned)}` : ""} {run.total === 1 && !run.planned ? "step" : "steps"}</span>
        {children}
        <label class="smooth">smooth <input type="range" min="0" max="0.95" step="0.05" value={weight} aria-label="smoothing" onInput={(event) => set({ smooth: Number(event.currentTarget.value) ? event.currentTarget.value : "" })} /></label>
      </header>
      {run.problem && <p class="notice">{run.problem}</p>}
      {error && <Problem>{error}</Problem>}
      <div class="run-body">
        {!steps.length
          ? <Nothing>This run has not finished a step yet. The curves begin by themselves when it does.</Nothing>
          : <div class="curves">{drawn.filter((chart) => !chart.more).map((chart) => <Curve key={chart.title} title={chart.title} steps={steps} lines={chart.lines} wide={chart.wide} />)}</div>}
        {drawn.some((chart) => chart.more) && (
          <Folded title="More curves"><div class="curves">{drawn.filter((chart) => chart.more).map((chart) => <Curve key={chart.title} title={chart.title} steps={steps} lines={chart.lines} />)}</div></Folded>
        )}
        <Watch id={id} samples={run.samples} route={route} set={set} />
        <Folded title="Recipe and versions">
          <div class="recipe"><Code text={run.recipe || "no recipe.toml"} plain /><Code text={JSON.stringify(run.versions, null, 2)} /></div>
        </Folded>
      </div>
    </>
  );
}

/** A fold whose inside is built only once it is opened, so that curves know their width. */
function Folded({ title, children }: { title: string; children: preact.ComponentChildren }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="others" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && children}
    </details>
  );
}
