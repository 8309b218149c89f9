/** Two rollouts of the same example, side by side. */

import { useMemo, useState } from "preact/hooks";
import { useAsk } from "../ask";
import { data, type Item, type Pair } from "../data";
import { useKeys } from "../keys";
import { Conversation } from "../parts/conversation";
import { Gold } from "../parts/gold";
import { Pointing, SuccessParts, figure } from "../parts/marks";
import { Answer } from "../parts/say";
import { first, go, link, type Route } from "../route";
import { named, useBrief, useSources } from "../sources";

export function PairPage({ route }: { route: Route }) {
  const [left, leftAt, right, rightAt] = ["left", "left_at", "right", "right_at"].map((name) => Number(first(route, name))) as [number, number, number, number];
  const asked = useAsk(`${left} ${leftAt} ${right} ${rightAt}`, () => data.pair(left, leftAt, right, rightAt));
  const [open, setOpen] = useState(false);
  const back = (): void => go(link(["compare"], { left, right }));
  useKeys({ e: () => setOpen(!open), Escape: back, u: back });
  return (
    <Answer asked={asked} what="both rollouts">
      {(pair) => (
        <div class="page pair-page">
          <header class="top item-top">
            <div class="crumbs"><a href={link(["compare"], { left, right })}>Compare</a><span>/</span><h1>{pair.left.example.id}</h1></div>
            <div class="actions"><button type="button" aria-pressed={open} onClick={() => setOpen(!open)}>{open ? "Fold" : "Unfold"} calls <kbd>e</kbd></button></div>
          </header>
          <Sides pair={pair} open={open} left={[left, leftAt]} right={[right, rightAt]} />
        </div>
      )}
    </Answer>
  );
}

function Sides({ pair, open, left, right }: { pair: Pair; open: boolean; left: [number, number]; right: [number, number] }) {
  const [step, point] = useState<number | null>(null);
  const pointed = useMemo(() => ({ step, point }), [step]);
  const names = [...new Set([...pair.left.parts, ...pair.right.parts].map((part) => part.name))];
  return (
    <Pointing.Provider value={pointed}>
      <section class="scores" aria-label="parts of the reward, left and right">
        {names.map((name) => <Against key={name} name={name} left={pair.left} right={pair.right} />)}
        {!names.length && <p class="silent">Nothing was to be called in this example: paid 1 for no call.</p>}
      </section>
      <details class="others pair-gold"><summary>Ground truth</summary><Gold item={{ ...pair.left, rollout: null, served: [] }} /></details>
      <div class="sides">
        <Side item={pair.left} at={left} open={open} parted={pair.first_difference} tone="left" />
        <Side item={pair.right} at={right} open={open} parted={pair.first_difference} tone="right" />
      </div>
    </Pointing.Provider>
  );
}

function Against({ name, left, right }: { name: string; left: Item; right: Item }) {
  const value = (item: Item): number => item.parts.find((part) => part.name === name)?.value ?? 0;
  const one = value(left), other = value(right);
  const share = (number: number): string => `${Math.min(1, Math.abs(number)) * 100}%`;
  return (
    <div class="against">
      <span class="figure">{figure(one)}</span>
      <span class="half left"><i class={one < 0 ? "minus" : ""} style={{ width: share(one) }} /></span>
      <span class={`name ${one !== other ? "differs" : ""}`}>{name}</span>
      <span class="half right"><i class={other < 0 ? "minus" : ""} style={{ width: share(other) }} /></span>
      <span class="figure">{figure(other)}</span>
    </div>
  );
}

function Side({ item, at: [source, at], open, parted, tone }: { item: Item; at: [number, number]; open: boolean; parted: number | null; tone: string }) {
  const about = named(useSources(), source);
  const brief = useBrief();
  return (
    <section class={`one-side ${tone}`} aria-label={`${tone} rollout`}>
      <h2>
        <a href={link(["data", source, at])}>{about ? brief(about) : `source ${source}`}</a>
        <span class="aside">{item.rollout?.policy}, {item.rollout?.calls?.length ?? 0} calls</span>
        <SuccessParts item={item} /><b class="figure">{figure(item.total)}</b>
      </h2>
      <Conversation item={item} open={open} parted={parted} />
    </section>
  );
}
