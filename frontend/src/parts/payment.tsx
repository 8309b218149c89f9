/** The reward of a rollout: its components as bars, and what each call earned. */

import type { Item, Part } from "../data";
import { Ledger } from "./call";
import { Outcome, SuccessParts, figure } from "./marks";

export function PartBar({ part }: { part: Part }) {
  const share = Math.max(0, Math.min(1, Math.abs(part.value)));
  return (
    <div class={`part ${part.value < 0 ? "minus" : ""}`} title={part.about || part.name}>
      <span class="part-name">{part.name}</span>
      <span class="part-track"><span class="part-fill" style={{ width: `${share * 100}%` }} /></span>
      <span class="part-value">{figure(part.value)}</span>
      <span class="part-paid">{part.paid < 0 ? "−" : "+"}{figure(Math.abs(part.paid))}</span>
    </div>
  );
}

function Judgement({ item }: { item: Item }) {
  return <><h4 class="by-call">Success: <Outcome value={item.verdict} /></h4><SuccessParts item={item} words /></>;
}

export function Payment({ item }: { item: Item }) {
  if (!item.rollout) return null;
  if (item.total === null) {
    return <section class="payment"><h3>Reward</h3><p class="silent">Not paid: {item.rollout.reason || "it did not end well."}</p><Judgement item={item} /></section>;
  }
  return (
    <section class="payment" aria-label="reward">
      <h3>
        Reward
        <span class="total"><b>{figure(item.total)}</b> of {figure(item.best ?? 1.3, 1)}</span>
      </h3>
      {item.parts.length
        ? item.parts.map((part) => <PartBar key={part.name} part={part} />)
        : <p class="silent">{item.gold.length ? "No parts were recorded." : "Nothing was to be called: paid 1 for no call, 0 otherwise; the hardened scheme pays 0.5 if a reply is wrong."}</p>}
      <Judgement item={item} />
      {(item.rollout.calls ?? []).length > 0 && <><h4 class="by-call">Call by call</h4><Ledger calls={item.rollout.calls ?? []} served={item.served} /></>}
      {item.explain.length > 0 && (
        <details class="explain">
          <summary>In words</summary>
          <ol>{item.explain.map((line, at) => <li key={at}>{line}</li>)}</ol>
        </details>
      )}
    </section>
  );
}
