/** Two files of rollouts over the same examples: rewards of each pair, and what differs. */

import { useEffect, useState } from "preact/hooks";
import { useAsk } from "../ask";
import { data, type Comparison, type Pairing, type Source } from "../data";
import { useKeys } from "../keys";
import { Success, Tag, figure, grouped } from "../parts/marks";
import { Answer, Nothing } from "../parts/say";
import { first, go, link, type Route } from "../route";
import { ofKind, useBrief, useSources } from "../sources";

const PAGE = 100;
const SORTS = [["", "largest difference"], ["-difference", "best for the right"], ["difference", "best for the left"]] as const;

export function ComparePage({ route }: { route: Route }) {
  const files = ofKind(useSources(), "rollouts").filter((one) => one.count > 0);
  const left = Number(first(route, "left") || (files[0]?.id ?? -1));
  const right = Number(first(route, "right") || (files.find((one) => one.id !== left)?.id ?? -1));
  const sort = first(route, "sort");
  if (files.length < 2) {
    return (
      <div class="page"><header class="top"><h1>Compare</h1></header>
        <Nothing>Two files of rollouts over the same examples can be compared; {files.length ? "only one is" : "none is"} here. Name both: <code>provegym view before.jsonl after.jsonl</code>.</Nothing>
      </div>
    );
  }
  const set = (changes: Record<string, string | number>): void => go(link(["compare"], { left, right, sort, ...changes }), true);
  return (
    <div class="page compare-page">
      <header class="top">
        <h1>Compare</h1>
        <Pick files={files} label="left" value={left} pick={(id) => set({ left: id })} />
        <button type="button" class="quiet" aria-label="swap sides" title="swap sides" onClick={() => set({ left: right, right: left })}>⇄</button>
        <Pick files={files} label="right" value={right} pick={(id) => set({ right: id })} />
        <label class="order">by <select value={sort} aria-label="sort" onChange={(event) => set({ sort: event.currentTarget.value })}>
          {SORTS.map(([value, name]) => <option key={value} value={value}>{name}</option>)}
        </select></label>
      </header>
      <Differences key={`${left} ${right} ${sort}`} left={left} right={right} sort={sort} />
    </div>
  );
}

function Pick({ files, label, value, pick }: { files: Source[]; label: string; value: number; pick: (id: number) => void }) {
  const brief = useBrief();
  return (
    <select class={`pick ${label}`} value={value} aria-label={`${label} file`} onChange={(event) => pick(Number(event.currentTarget.value))}>
      {files.map((one) => <option key={one.id} value={one.id}>{brief(one)} ({grouped(one.count)})</option>)}
    </select>
  );
}

function Differences({ left, right, sort }: { left: number; right: number; sort: string }) {
  const [limit, setLimit] = useState(PAGE);
  const asked = useAsk(`${left} ${right} ${sort} ${limit}`, () => data.compare(left, right, sort, 0, limit));
  return (
    <Answer asked={asked} what="both files">
      {(found) => !found.pairs
        ? <Nothing>These two files share no example: {grouped(found.only_left)} are only on the left, {grouped(found.only_right)} only on the right.</Nothing>
        : <>
          <Winner found={found} />
          <Pairs found={found} left={left} right={right} more={() => setLimit(limit + PAGE)} />
        </>}
    </Answer>
  );
}

/** The shares of success and of its parts, left and right. */
function SuccessRates({ found }: { found: Comparison }) {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  return (
    <dl class="rates" aria-label="success, left and right">
      {(["success", "state", "answer", "ended"] as const).map((name) => (
        <div key={name}><dt>{name}</dt><dd>{percent(found.rates_left[name])} <span class="to">→</span> {percent(found.rates_right[name])}</dd></div>
      ))}
    </dl>
  );
}

function Winner({ found }: { found: Comparison }) {
  const { wins_left, wins_right, ties, pairs } = found;
  const gain = (found.mean_right ?? 0) - (found.mean_left ?? 0);
  const part = (count: number, tone: string, said: string) =>
    count > 0 && <span class={`win ${tone}`} style={{ flexGrow: count }} title={`${said}: ${count}`}>{count / pairs > 0.06 ? grouped(count) : ""}</span>;
  return (
    <section class="verdict" aria-label="verdict">
      <div class="means">
        <span>left mean <b>{figure(found.mean_left, 3)}</b></span>
        <span class={`gain ${gain > 0 ? "up" : gain < 0 ? "down" : ""}`}>{gain >= 0 ? "+" : "−"}{figure(Math.abs(gain), 3)}</span>
        <span>right mean <b>{figure(found.mean_right, 3)}</b></span>
      </div>
      <div class="wins" role="img" aria-label={`left wins ${wins_left}, ties ${ties}, right wins ${wins_right}`}>
        {part(wins_left, "left", "left wins")}{part(ties, "tie", "equal")}{part(wins_right, "right", "right wins")}
      </div>
      <p class="legend">
        <span><i class="dot left" /> left wins {grouped(wins_left)}</span><span><i class="dot tie" /> equal {grouped(ties)}</span><span><i class="dot right" /> right wins {grouped(wins_right)}</span>
        <span class="aside">{grouped(pairs)} pairs{found.only_left ? `, ${grouped(found.only_left)} only left` : ""}{found.only_right ? `, ${grouped(found.only_right)} only right` : ""}</span>
      </p>
      <SuccessRates found={found} />
    </section>
  );
}

function Pairs({ found, left, right, more }: { found: Comparison; left: number; right: number; more: () => void }) {
  const [cursor, setCursor] = useState(-1);
  const to = (pair: Pairing): string => link(["compare", "pair"], { left, left_at: pair.left, right, right_at: pair.right });
  const move = (by: number): void => setCursor(Math.max(0, Math.min(found.rows.length - 1, cursor + by)));
  const open = (): void => { const pair = found.rows[cursor]; if (pair) go(to(pair)); };
  useKeys({ j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), Enter: open, o: open });
  useEffect(() => document.querySelector(".pairs .cursor")?.scrollIntoView({ block: "nearest" }), [cursor]);
  return (
    <div class="pairs" role="list" aria-label="pairs">
      <div class="pairing head"><span>example</span><span class="num">left</span><span class="middle">difference</span><span class="num">right</span><span>what changed</span></div>
      {found.rows.map((pair, at) => (
        <a key={at} role="listitem" class={`pairing ${at === cursor ? "cursor" : ""}`} href={to(pair)} aria-label={`${pair.id}, difference ${figure(pair.difference)}`}>
          <span class="id" title={pair.id}>{pair.id}</span>
          <span class="num"><Success value={pair.left_verdict} /> {figure(pair.left_reward)}</span>
          <Swing value={pair.difference} />
          <span class="num"><Success value={pair.right_verdict} /> {figure(pair.right_reward)}</span>
          <span class="tags">{pair.changed.map((what) => <Tag key={what}>{what}</Tag>)}</span>
        </a>
      ))}
      {found.rows.length < found.pairs && <button type="button" class="more" onClick={more}>show more of {grouped(found.pairs)}</button>}
    </div>
  );
}

function Swing({ value }: { value: number }) {
  const share = Math.min(1, Math.abs(value) / 1.3) * 50;
  const side = value < 0 ? { right: "50%", width: `${share}%` } : { left: "50%", width: `${share}%` };
  return (
    <span class={`swing ${value < 0 ? "down" : value > 0 ? "up" : ""}`}>
      <span class="bar"><i style={side} /></span>
      <span class="figure">{value > 0 ? "+" : value < 0 ? "−" : ""}{figure(Math.abs(value))}</span>
    </span>
  );
}
