/** The rows of one source: faceted filters, a search, and a virtual list. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useAsk } from "../ask";
import { data, type Query, type Row, type Source } from "../data";
import { useKeys } from "../keys";
import { useNarrow } from "../narrow";
import { FacetPanel } from "../parts/facets";
import { Reward, Success, Tag, grouped, kindBrief, kindTitle, words } from "../parts/marks";
import { Nothing, Problem, Waiting } from "../parts/say";
import { Virtual } from "../parts/virtual";
import { useRows } from "../rows";
import { go, link, parse, type Route } from "../route";
import { named, useBrief, useSources } from "../sources";

const ROW = 34;
/** On a phone a row has two lines. */
const TALL_ROW = 62;
const DEBOUNCE_MS = 140;
const cursors = new Map<string, number>();

/** The names of filters in a link; other names in it are not for the list. */
const FILTERS = ["server", "kind", "knob", "error", "policy", "ending", "success", "state", "answer", "ended", "least", "most", "calls_least", "calls_most", "text", "sort", "id"];

export function filtersOf(route: Route): Query {
  return Object.fromEntries(FILTERS.filter((name) => route.query[name]?.length).map((name) => [name, route.query[name]!]));
}

export function ListPage({ source, route }: { source: number; route: Route }) {
  const known = useSources();
  const about = named(known, source);
  if (!about) return <Nothing>There is no source {source} here. <a href={link([])}>See what there is.</a></Nothing>;
  if (about.kind === "problem") return <div class="page"><header class="top"><h1>{about.name}</h1></header><Problem>{about.problem}</Problem></div>;
  return <Lines about={about} query={filtersOf(route)} />;
}

function Lines({ about, query }: { about: Source; query: Query }) {
  const key = JSON.stringify([about.id, query]);
  const rows = useRows(about.id, query, about.done ? String(about.count) : "");
  const facets = useAsk(`${key} ${about.done} ${about.done ? about.count : Math.floor(Math.log2(about.count + 1))}`, () => data.facets(about.id, query));
  const [cursor, setCursor] = useState(cursors.get(key) ?? -1);
  useEffect(() => setCursor(cursors.get(key) ?? -1), [key]);
  // The search is debounced: when it fires, another filter or page may be open, so it starts from the link as it is then.
  const refine = (changes: Query): void => {
    const now = parse(location.hash);
    if (now.parts.join("/") === `data/${about.id}`) go(link(now.parts, { ...filtersOf(now), ...changes }), true);
  };
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(rows.total - 1, cursor + by));
    cursors.set(key, next);
    setCursor(next);
  };
  const open = (index = cursor): void => {
    const row = rows.row(index);
    if (!row) return;
    cursors.set(key, index);
    go(link(["data", about.id, row.at], query));
  };
  useKeys({
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    PageDown: () => move(15), PageUp: () => move(-15), Home: () => move(-Infinity), End: () => move(Infinity),
    Enter: () => open(), o: () => open(),
    x: () => go(link(["data", about.id]), true),
  });
  const filters = Object.keys(query).filter((name) => name !== "sort").length;
  const filtered = filters > 0;
  const narrow = useNarrow();
  const [sifting, setSifting] = useState(false);
  return (
    <div class="page list-page">
      <header class="top">
        <h1 title={about.path}>{useBrief()(about)}</h1>
        <Search query={query} refine={refine} />
        {narrow && <button type="button" class="sift" aria-expanded={sifting} onClick={() => setSifting(!sifting)}>{sifting ? "Show the list" : filters ? `Filters (${filters})` : "Filters"}</button>}
        <p class="tally" role="status">
          {rows.ready && <><b>{grouped(rows.total)}</b>{filtered ? ` of ${grouped(rows.of)}` : ""} {about.kind}</>}
          {!rows.done && <span class="growing"> still reading{about.read && about.bytes ? `, ${Math.floor((about.read / about.bytes) * 100)} %` : ""} …</span>}
          {rows.took > 0 && <span class="took" title="time to filter and sort">{rows.took < 10 ? rows.took.toFixed(1) : Math.round(rows.took)} ms</span>}
          {filtered && <button type="button" class="quiet" onClick={() => refine(cleared(query))}>clear filters <kbd>x</kbd></button>}
        </p>
      </header>
      {about.problem && <p class="notice">{about.problem}</p>}
      {about.shown !== undefined && about.shown < about.count && <p class="notice">This report holds {grouped(about.shown)} of {grouped(about.count)}, chosen evenly over the reward.</p>}
      <div class={`list-body ${sifting ? "sifting" : ""}`}>
        <aside aria-label="filters">
          {facets.value ? <FacetPanel facets={facets.value} query={query} refine={refine} />
            : facets.error ? <Problem>{facets.error}</Problem> : <Waiting what="counts" />}
        </aside>
        <div class={`lines ${about.kind}`}>
          <Head kind={about.kind} query={query} refine={refine} />
          {rows.error ? <Problem>{rows.error}</Problem>
            : !rows.ready ? <Waiting what="the first lines" />
            : !rows.total ? <Nothing>{filtered ? "Nothing fits these filters; press x to clear them." : rows.done ? "This file holds no line." : "Nothing has been read yet."}</Nothing>
            : (
              <Virtual total={rows.total} height={narrow ? TALL_ROW : ROW} cursor={cursor} label={about.kind} kept={key} seen={rows.seen}>
                {(index) => <Line row={rows.row(index)} to={(row) => link(["data", about.id, row.at], query)} here={index === cursor} chosen={() => cursors.set(key, index)} kind={about.kind} />}
              </Virtual>
            )}
        </div>
      </div>
    </div>
  );
}

const cleared = (query: Query): Query =>
  Object.fromEntries(Object.keys(query).filter((name) => name !== "sort").map((name) => [name, []]));

function Search({ query, refine }: { query: Query; refine: (changes: Query) => void }) {
  const text = query["text"]?.[0] ?? "";
  const [typed, setTyped] = useState(text);
  const timer = useRef(0);
  const told = useRef(text);
  useEffect(() => {
    if (text === told.current) return;
    told.current = text;
    setTyped(text);
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string): void => {
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      told.current = next;
      refine({ text: next ? [next] : [] });
    }, DEBOUNCE_MS);
  };
  return (
    <label class="search">
      <input type="search" value={typed} placeholder="Search what users say, ids …" aria-label="search" onInput={(event) => type(event.currentTarget.value)} />
      <kbd>/</kbd>
    </label>
  );
}

function Head({ kind, query, refine }: { kind: string; query: Query; refine: (changes: Query) => void }) {
  const order = query["sort"]?.[0] ?? "line";
  const Sort = ({ by, children }: { by: string; children: string }) => {
    const on = order === by ? "ascending" : order === `-${by}` ? "descending" : undefined;
    const next = order === `-${by}` ? by : order === by ? "" : `-${by}`;
    return (
      <button type="button" class={on ? "on" : ""} aria-label={`sort by ${children}${on ? `, now ${on}` : ""}`} onClick={() => refine({ sort: next ? [next] : [] })}>
        {children}{on === "ascending" ? " ↑" : on ? " ↓" : ""}
      </button>
    );
  };
  return (
    <div class="line head">
      <span class="at">line</span>
      {kind === "rollouts" && <><span><Sort by="reward">reward</Sort></span><span title="state, answer and ended: success is all three">success</span></>}
      <span>server</span>
      <span>kind</span>
      <span class="num"><Sort by="calls">{kind === "rollouts" ? "calls" : "steps"}</Sort></span>
      <span>first words</span>
      <span />
    </div>
  );
}

function Line({ row, to, here, chosen, kind }: { row: Row | undefined; to: (row: Row) => string; here: boolean; chosen: () => void; kind: string }) {
  if (!row) return <div class="line blank" role="listitem" aria-busy="true" />;
  return (
    <a class={`line ${here ? "cursor" : ""}`} role="listitem" href={to(row)} onClick={chosen} aria-current={here ? "true" : undefined}>
      <span class="at">{row.at + 1}</span>
      {kind === "rollouts" && <><Reward value={row.reward} /><Success value={row.verdict} /></>}
      <span class="server">{row.server || "none"}</span>
      <span class="sort" title={kindTitle(row.kind)}>{kindBrief(row.kind)}</span>
      <span class="num">{row.calls}</span>
      <span class="words">{row.text}</span>
      <span class="tags">
        {row.errors.map((error) => <Tag key={error} tone="bad">{words(error)}</Tag>)}
        {row.knobs.map((knob) => <Tag key={knob}>{words(knob)}</Tag>)}
      </span>
    </a>
  );
}
