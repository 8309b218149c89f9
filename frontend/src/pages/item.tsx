/** One example or rollout: the conversation, the ground truth beside it, and what was paid. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsk } from "../ask";
import { data, type Item, type Placed, type Query, type Row, type Source } from "../data";
import { useKeys } from "../keys";
import { Conversation } from "../parts/conversation";
import { Gold } from "../parts/gold";
import { Icon } from "../parts/icons";
import { Pointing, Reward, SuccessParts, Tag, figure, grouped, kindName, kindTitle, words } from "../parts/marks";
import { Payment } from "../parts/payment";
import { Answer } from "../parts/say";
import { JsonView } from "../parts/text";
import { go, link, type Route } from "../route";
import { named, ofKind, useBrief, useSources } from "../sources";
import { filtersOf } from "./list";

const SIBLINGS = 8;

export function ItemPage({ source, at, route }: { source: number; at: number; route: Route }) {
  const query = filtersOf(route);
  const asked = useAsk(JSON.stringify([source, at, query]), () => data.item(source, at, query));
  const back = (): void => go(link(["data", source], query));
  useKeys({ Escape: back, u: back });
  return (
    <Answer asked={asked} what="this line">
      {(item) => <One item={item} source={source} query={query} route={route} />}
    </Answer>
  );
}

function One({ item, source, query, route }: { item: Placed; source: number; query: Query; route: Route }) {
  const open = route.query["open"]?.[0] === "all";
  const raw = route.query["show"]?.[0] === "json";
  const kept = { ...query, open: open ? "all" : "", show: raw ? "json" : "" };
  const to = (at: number | null): string | undefined => (at === null ? undefined : link(["data", source, at], kept));
  const set = (changes: Record<string, string>): void => go(link(["data", source, item.at], { ...kept, ...changes }), true);
  const visit = (at: number | null): void => {
    const there = to(at);
    if (there) go(there);
  };
  useKeys({
    n: () => visit(item.next), p: () => visit(item.previous), ArrowRight: () => visit(item.next), ArrowLeft: () => visit(item.previous),
    e: () => set({ open: open ? "" : "all" }),
    j: () => scroll(120), k: () => scroll(-120),
  });
  const talk = useRef<HTMLDivElement>(null);
  const scroll = (by: number): void => talk.current?.scrollBy({ top: by });
  useEffect(() => talk.current?.scrollTo({ top: 0 }), [source, item.at]);
  return (
    <div class="page item-page">
      <ItemHead item={item} source={source} query={query}>
        <button type="button" aria-pressed={open} onClick={() => set({ open: open ? "" : "all" })}>{open ? "Fold" : "Unfold"} calls <kbd>e</kbd></button>
        <button type="button" aria-pressed={raw} onClick={() => set({ show: raw ? "" : "json" })}>JSON</button>
        {item.rollout && <CompareMenu item={item} source={source} />}
        {item.example.server && item.gold.length > 0 && <a class="button" href={link(["graph", item.example.server], { example: `${source}:${item.at}` })}>In the graph</a>}
        <span class="steps">
          <a class="button" href={to(item.previous)} aria-disabled={item.previous === null} aria-label="previous" title="previous (p)"><Icon name="left" /></a>
          <span class="place">{item.place !== null ? `${grouped(item.place + 1)} of ${grouped(item.total_items)}` : `line ${grouped(item.at + 1)}`}</span>
          <a class="button" href={to(item.next)} aria-disabled={item.next === null} aria-label="next" title="next (n)"><Icon name="right" /></a>
        </span>
      </ItemHead>
      {(item.notes ?? []).map((note, at) => <p class="notice" key={at}>{note.charAt(0).toUpperCase() + note.slice(1)}</p>)}
      <Both item={item} open={open} raw={raw} talk={talk} />
    </div>
  );
}

function Both({ item, open, raw, talk }: { item: Item; open: boolean; raw: boolean; talk: preact.RefObject<HTMLDivElement> }) {
  const [step, point] = useState<number | null>(null);
  const pointed = useMemo(() => ({ step, point }), [step]);
  return (
    <Pointing.Provider value={pointed}>
      <div class="item-body">
        <div class="talk" ref={talk} tabIndex={0} aria-label="conversation">
          {raw ? <JsonView value={JSON.parse(JSON.stringify(item.rollout ? { ...item.rollout, example: item.example } : item.example))} /> : <Conversation item={item} open={open} />}
        </div>
        <aside class="truth" aria-label="reward and ground truth"><Payment item={item} /><Gold item={item} /><Origin item={item} /></aside>
      </div>
    </Pointing.Provider>
  );
}

function ItemHead({ item, source, query, children }: { item: Item; source: number; query: Query; children: preact.ComponentChildren }) {
  const about = named(useSources(), source);
  const brief = useBrief();
  const { example, rollout } = item;
  return (
    <header class="top item-top">
      <div class="crumbs"><a href={link(["data", source], query)}>{about ? brief(about) : `source ${source}`}</a><span>/</span><h1>{example.id}</h1></div>
      <div class="actions">{children}</div>
      <div class="facts">
        {rollout && <Reward value={item.total} best={item.best} />}
        {rollout && item.verdict && <SuccessParts item={item} />}
        <Tag tone="kind" title={kindTitle(example.kind)}>{kindName(example.kind)}</Tag>
        {example.server && <a class="tag" href={link(["servers", example.server], { seed: example.seed })}>{example.server}, world {example.seed}</a>}
        {rollout && <Tag>{rollout.policy}</Tag>}
        {rollout && (rollout.ended ?? "done") !== "done" && <Tag tone="bad">ended: {words(rollout.ended ?? "")}</Tag>}
        {rollout?.tokens ? <Tag>{grouped(rollout.tokens)} tokens</Tag> : null}
        {(example.knobs ?? []).map((knob) => <Tag key={knob}>{words(knob)}</Tag>)}
        {item.rollout?.reward?.greedy && <Tag tone="warn">greedy alignment</Tag>}
      </div>
    </header>
  );
}

function Origin({ item }: { item: Item }) {
  const box = item.example.toolbox ?? {};
  const facts: [string, string][] = [
    ["distractors", (box.distractors ?? []).join(", ")], ["hidden tools", (box.hidden ?? []).join(", ")],
    ["stripped enums", (box.stripped ?? []).join(", ")], ["world digest", item.example.digest],
    ...Object.entries(item.example.provenance ?? {}).map(([name, value]): [string, string] => [words(name), typeof value === "string" ? value : JSON.stringify(value)]),
  ];
  return (
    <details class="others origin">
      <summary>Where it comes from</summary>
      <dl>{facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </details>
  );
}

/** Other rollouts of the same example, looked up when the menu is opened. */
function CompareMenu({ item, source }: { item: Item; source: number }) {
  const known = useSources();
  const [found, setFound] = useState<{ about: Source; row: Row }[] | null>(null);
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => { setFound(null); box.current?.removeAttribute("open"); }, [source, item.at]);
  useEffect(() => {
    const away = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) box.current?.removeAttribute("open");
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  const look = async (): Promise<void> => {
    if (!box.current?.open || found) return;
    const lists = await Promise.all(ofKind(known, "rollouts").slice(0, 60).map(async (about) => {
      const answer = await data.rows(about.id, { id: [item.example.id] }, 0, SIBLINGS).catch(() => null);
      return (answer?.rows ?? []).filter((row) => row.id === item.example.id).map((row) => ({ about, row }));
    }));
    setFound(lists.flat().filter(({ about, row }) => about.id !== source || row.at !== item.at));
  };
  return (
    <details class="menu" ref={box} onToggle={look}>
      <summary class="button">Compare with</summary>
      <div class="menu-list">
        {!found && <p class="silent">looking …</p>}
        {found?.length === 0 && <p class="silent">No other rollout of this example is here.</p>}
        {found?.map(({ about, row }) => (
          <a key={`${about.id}:${row.at}`} href={link(["compare", "pair"], { left: source, left_at: item.at, right: about.id, right_at: row.at })}>
            <span>{about.name}, line {row.at + 1}{about.step === undefined ? "" : ` (step ${about.step})`}</span><span class="figure">{figure(row.reward)}</span>
          </a>
        ))}
      </div>
    </details>
  );
}
