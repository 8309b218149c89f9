/** The first page: headline figures of the newest rollouts, what changed, the last run, and where to start. */

import { useAsk } from "../ask";
import { data, type Rates, type Source } from "../data";
import { edgeOf, edges, newestFirst, tellFiles, tellRuns, type Headline, type Measured, type Progress, type RunTold } from "../headline";
import { Curve } from "../parts/curve";
import { figure, grouped, kindName } from "../parts/marks";
import { Problem, Waiting } from "../parts/say";
import { ShowcaseView } from "../parts/showcase";
import { Start } from "../parts/start";
import { link } from "../route";
import { home, ofKind, useBrief, useSources } from "../sources";

const PARTS = ["success", "state", "answer", "ended"] as const;
const ABOUT: Record<keyof Rates, string> = {
  success: "state, answer and ended are all right", state: "the final world is right, and answers were looked up",
  answer: "the replies say what they should; where nothing had to be said, they claim nothing false", ended: "the conversation came to its end",
};
/** A share in percent; with a digit more where it would look like all or nothing and is not. */
const percent = (share: number): string => {
  const rounded = Math.round(100 * share);
  return `${(rounded === 100 && share < 1) || (rounded === 0 && share > 0) ? (100 * share).toFixed(1) : rounded} %`;
};

/** A key that changes as files grow, though not with every line of a large file. */
const keyOf = (sources: Source[]): string =>
  sources.map((one) => `${one.id}:${one.done ? `${one.count} ${one.modified}` : Math.floor(Math.log2(one.count + 1))}`).join();

export function HomePage() {
  const known = useSources();
  const files = ofKind(known, "rollouts").filter((one) => (one.run === undefined || one.run === null) && one.count > 0);
  const runs = ofKind(known, "run");
  const told = useAsk(`files ${keyOf(files)}`, () => tellFiles(files));
  const ran = useAsk(`runs ${keyOf(runs)}`, () => tellRuns(runs));
  const examples = ofKind(known, "examples");
  return (
    <div class="page home-page">
      <header class="top">
        <h1>{data.frozen ? "Report" : "Home"}</h1>
        <p class="lead">{inventory(examples, files, runs)}</p>
        <p class="tally">
          {known.worlds ? <a href={link(["servers"])}>{count(known.worlds, "drawn world", "drawn worlds")}</a> : null}
          {known.sources.length > 0 && <a href={link(["data"])}>all files</a>}
        </p>
      </header>
      <div class="home-body">
        {told.error && <Problem>{told.error}</Problem>}
        {ran.error && <Problem>{ran.error}</Problem>}
        {!told.value && !told.error && files.length > 0 && <Waiting what="the newest rollouts" />}
        {told.value && files.length > 0 && <Newest told={told.value} />}
        {ran.value && ran.value.length > 0 && <LastRun told={ran.value} />}
        {examples[0] && <Corpus source={newestFirst(examples)[0]!} />}
        {told.value && <Files files={told.value.files} all={files.length} />}
        {!data.frozen && <Start examples={newestFirst(examples)} rollouts={newestFirst(files)} runs={runs} />}
      </div>
    </div>
  );
}

const count = (number: number, one: string, many: string): string => `${grouped(number)} ${number === 1 ? one : many}`;

function inventory(examples: Source[], files: Source[], runs: Source[]): string {
  const sum = (sources: Source[]): number => sources.reduce((total, one) => total + one.count, 0);
  const said = [
    sum(examples) && count(sum(examples), "example", "examples"),
    files.length && `${count(sum(files), "rollout", "rollouts")} in ${count(files.length, "file", "files")}`,
    runs.length && count(runs.length, "training run", "training runs"),
  ].filter(Boolean);
  return said.length ? `${said.join(", ")}.` : "Nothing is here yet.";
}

/** What the newest file of rollouts comes to: a sentence, large figures, and one rollout that is right. */
function Newest({ told }: { told: Headline }) {
  const { files: [newest], progress, showcase } = told;
  if (!newest) return null;
  const now = progress?.right ?? newest.figures;
  const was = progress?.left;
  return (
    <section class="panel newest" aria-label="newest rollouts">
      <h2>{data.frozen ? "The result" : "Newest rollouts"} <When source={newest.source} /></h2>
      <p class="headline">{progress ? <Against progress={progress} /> : <Alone newest={newest} />}</p>
      <dl class="big-figures">
        <Big name="reward" about="mean of all rollouts; at most 1.3 where there is something to call, 1 where not" value={figure(now.reward)} change={was && change(now.reward, was.reward, 2)} was={was && figure(was.reward)} share={(now.reward ?? 0) / 1.3} />
        {PARTS.map((name) => (
          <Big key={name} name={name} about={ABOUT[name]} value={percent(now.rates[name])} share={now.rates[name]}
            change={was && change(Math.round(100 * now.rates[name]), Math.round(100 * was.rates[name]), 0)} was={was && percent(was.rates[name])} />
        ))}
      </dl>
      {progress && <p class="panel-foot"><a href={link(["compare"], { left: progress.before.id, right: progress.after.id })}>Compare them example by example</a></p>}
      {showcase && <ShowcaseView shown={showcase} before={progress?.before ?? null} after={newest.source} />}
    </section>
  );
}

const Named = ({ source }: { source: Source }) => <a class="file-name" href={link(home(source))} title={source.path}>{useBrief()(source)}</a>;

function Against({ progress: { before, after, pairs, left, right } }: { progress: Progress }) {
  const gain = (right.reward ?? 0) - (left.reward ?? 0);
  const how = Math.abs(gain) < 0.005 ? <>as much as</> : <>{figure(Math.abs(gain))} {gain > 0 ? "more" : "less"} than</>;
  return (
    <>
      <Named source={after} /> gets a reward of <b>{figure(right.reward)}</b> over {count(pairs, "rollout", "rollouts")}, {how} <Named source={before} /> over the same examples.
      It succeeds in <b>{percent(right.rates.success)}</b> of them; <Named source={before} /> in {percent(left.rates.success)}.
    </>
  );
}

function Alone({ newest: { source, figures } }: { newest: Measured }) {
  return <><Named source={source} /> gets a reward of <b>{figure(figures.reward)}</b> over {count(figures.count, "rollout", "rollouts")} and succeeds in <b>{percent(figures.rates.success)}</b> of them.</>;
}

interface Changed { text: string; tone: string }

function change(now: number | null, was: number | null, digits: number): Changed {
  const gain = (now ?? 0) - (was ?? 0);
  const text = Math.abs(gain).toFixed(digits);
  if (Number(text) === 0) return { text: "±0", tone: "" };
  return gain > 0 ? { text: `+${text}`, tone: "up" } : { text: `−${text}`, tone: "down" };
}

function Big({ name, about, value, share, change: changed, was }: { name: string; about: string; value: string; share: number; change?: Changed | undefined; was?: string | undefined }) {
  return (
    <div class="big" data-name={name} title={about}>
      <dt>{name}</dt>
      <dd>
        <span class="value">{value}</span>
        {changed && <span class={`gain ${changed.tone}`}>{changed.text}</span>}
        <span class="meter"><i style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} /></span>
        {was && <small>before {was}</small>}
      </dd>
    </div>
  );
}

function When({ source }: { source: Source }) {
  if (!source.modified) return null;
  const at = new Date(source.modified * 1000);
  const minutes = Math.floor((Date.now() - at.getTime()) / 60_000);
  const said = data.frozen || minutes >= 48 * 60 ? at.toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" })
    : minutes < 1 ? "just now" : minutes < 60 ? `${count(minutes, "minute", "minutes")} ago` : `${count(Math.floor(minutes / 60), "hour", "hours")} ago`;
  return <time class="aside" dateTime={at.toISOString()}>{said}</time>;
}

/** The newest corpus: how many examples of each kind, over how many servers. */
function Corpus({ source }: { source: Source }) {
  const asked = useAsk(`corpus ${keyOf([source])}`, () => data.facets(source.id, {}));
  const kinds = Object.entries(asked.value?.kind ?? {});
  const servers = Object.keys(asked.value?.server ?? {}).length;
  return (
    <section class="panel corpus" aria-label="corpus">
      <h2>Examples <When source={source} /></h2>
      <p class="headline"><Named source={source} /> holds {count(source.count, "example", "examples")}{servers > 0 && <> over {count(servers, "server", "servers")}</>}.</p>
      <ul class="kinds">{kinds.map(([kind, number]) => <li key={kind}><a href={link(["data", source.id], { kind })}>{kindName(kind)} <b>{grouped(number)}</b></a></li>)}</ul>
    </section>
  );
}

function LastRun({ told }: { told: RunTold[] }) {
  const { source, run } = told[0]!;
  const steps = run.steps.map((line, at) => (typeof line["step"] === "number" ? line["step"] : at));
  const rewards = run.steps.map((line) => (typeof line["reward"] === "number" ? line["reward"] : null));
  const over = edgeOf(run.steps);
  return (
    <section class="panel last-run" aria-label="last run">
      <h2>Last run <When source={source} /></h2>
      <p class="headline">
        <Named source={source} /> {run.running ? "is running" : "has ended"} after {count(run.total, "step", "steps")}{run.planned ? ` of ${grouped(run.planned)}` : ""}.
      </p>
      {rewards.some((value) => value !== null) && <Curve title="Reward" steps={steps} lines={[{ name: "reward", values: rewards }]} />}
      {run.steps.length > 1 && <Moved run={run} over={over} />}
      {told.length > 1 && <Ends told={told} />}
    </section>
  );
}

/** Each metric at the start of a run and at its end. */
function Moved({ run, over }: { run: RunTold["run"]; over: number }) {
  const found = ["reward", ...PARTS].flatMap((name) => { const at = edges(run.steps, name); return at ? [{ name, ...at }] : []; });
  return (
    <table class="moved">
      <thead><tr><th>{over > 1 ? `mean of ${over} steps` : "one step"}</th><th class="num">first</th><th class="num">last</th><th class="num">change</th></tr></thead>
      <tbody>
        {found.map(({ name, first, last }) => {
          const changed = change(last, first, 2);
          return <tr key={name}><td>{name}</td><td class="num">{figure(first)}</td><td class="num">{figure(last)}</td><td class={`num gain ${changed.tone}`}>{changed.text}</td></tr>;
        })}
      </tbody>
    </table>
  );
}

/** Where each of the newest runs came to, beside the run before it. */
function Ends({ told }: { told: RunTold[] }) {
  const last = (one: RunTold | undefined, name: string): number | null => (one ? (edges(one.run.steps, name)?.last ?? null) : null);
  return (
    <table class="moved runs-table" aria-label="runs">
      <thead><tr><th>run, at its end</th><th class="num">steps</th><th class="num">reward</th><th class="num">success</th></tr></thead>
      <tbody>
        {told.map((one) => {
          const success = last(one, "success");
          return (
            <tr key={one.source.id}>
              <td><Named source={one.source} /></td><td class="num">{grouped(one.run.total)}</td>
              <td class="num">{figure(last(one, "reward"))}</td><td class="num">{success === null ? "–" : percent(success)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Files({ files, all }: { files: Measured[]; all: number }) {
  const brief = useBrief();
  if (files.length < 2) return null;
  return (
    <section class="panel newest-files" aria-label="newest files">
      <h2>Files of rollouts <span class="aside">{all > files.length ? `the newest ${files.length} of ${all}` : "newest first"}</span></h2>
      <ul class="file-rows">
        <li class="file-row head" aria-hidden="true"><span>file</span><span class="num">rollouts</span><span class="num">reward</span><span class="num">success</span></li>
        {files.map(({ source, figures }) => (
          <li key={source.id}>
            <a class="file-row" href={link(home(source))}>
              <span class="source-name">{brief(source)}</span>
              <span class="num" data-name="rollouts">{grouped(figures.count)}</span>
              <span class="num" data-name="reward"><b>{figure(figures.reward)}</b></span>
              <span class="num" data-name="success"><b>{percent(figures.rates.success)}</b></span>
              <small class="in-parts">{PARTS.slice(1).map((name) => `${name} ${percent(figures.rates[name])}`).join(" · ")}</small>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
