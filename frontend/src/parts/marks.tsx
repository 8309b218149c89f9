/** Small marks that mean the same on every page: steps, rewards, success, tags. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Item, Verdict } from "../data";

const COLOURS = 8;
export const colour = (step: number): string => `s${step % COLOURS}`;

/** The step that is pointed at, so that the call and the step it serves light up together. */
export interface Pointed {
  step: number | null;
  point: (step: number | null) => void;
}
export const Pointing = createContext<Pointed>({ step: null, point: () => undefined });

export function useLit(step: number | null | undefined): { class: string; onMouseEnter?: () => void; onMouseLeave?: () => void } {
  const pointed = useContext(Pointing);
  if (step === null || step === undefined) return { class: pointed.step === null ? "" : "dim" };
  const state = pointed.step === null ? "" : pointed.step === step ? "lit" : "dim";
  return {
    class: `${colour(step)} ${state}`,
    onMouseEnter: () => pointed.point(step),
    onMouseLeave: () => pointed.point(null),
  };
}

export function StepBadge({ step, title }: { step: number | null; title?: string }) {
  if (step === null) return <span class="badge none" title={title ?? "serves no step"}>·</span>;
  return <span class={`badge ${colour(step)}`} title={title ?? `step ${step + 1}`}>{step + 1}</span>;
}

export const figure = (value: number | null | undefined, digits = 2): string =>
  value === null || value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(digits);

export const grouped = (value: number): string => value.toLocaleString("en");

const grade = (share: number): string => (share >= 0.95 ? "high" : share >= 0.6 ? "good" : share >= 0.3 ? "fair" : "low");

/** A reward as a figure over a thin bar. */
export function Reward({ value, best = 1.3 }: { value: number | null; best?: number | null }) {
  if (value === null) return <span class="reward none">–</span>;
  const share = Math.max(0, Math.min(1, value / (best || 1.3)));
  return (
    <span class={`reward ${grade(share)}`}>
      <span class="figure">{figure(value)}</span>
      <span class="track"><span class="fill" style={{ width: `${share * 100}%` }} /></span>
    </span>
  );
}

interface SuccessPart {
  name: keyof Verdict;
  yes: string;
  no: string;
}

/** The parts of success: what each says of a rollout that has it, and of one that lacks it. */
export const SUCCESS_PARTS: SuccessPart[] = [
  { name: "state", yes: "the final world is right, and the evidence for each answer was seen", no: "the final world is wrong, or the evidence for an answer was not seen" },
  { name: "answer", yes: "the replies say what they should", no: "a reply lacks what was asked, does not ask for what is missing, or claims a deed that was not done" },
  { name: "ended", yes: "the conversation came to its end", no: "the conversation was cut off, or a turn has no reply" },
];
/** Where nothing is to be called, the state is right if nothing was called. */
const IDLE: SuccessPart = { name: "state", yes: "nothing was called, and nothing was to be called", no: "something was called, and nothing was to be called" };

const missingOf = (value: Verdict): string => SUCCESS_PARTS.filter(({ name }) => !value[name]).map(({ name }) => name).join(", ");

/** Success in a list: a letter for each part, S(tate), A(nswer) and E(nded); a part that is wrong stands out. */
export function Success({ value }: { value: Verdict | null }) {
  if (value === null) return <span class="success none" title="not judged" aria-label="not judged">–</span>;
  const missing = missingOf(value);
  const said = missing ? `wrong: ${missing}` : "nothing is wrong: state, answer, ended";
  return (
    <span class={`success ${missing ? "no" : "yes"}`} role="img" title={said} aria-label={missing ? `failed: ${missing}` : "succeeded"}>
      {SUCCESS_PARTS.map(({ name }) => <i key={name} class={value[name] ? "yes" : "no"}>{name.charAt(0).toUpperCase()}</i>)}
    </span>
  );
}

/** Whether a rollout succeeded, in words; `short` where the parts stand beside it. */
export function Outcome({ value, short = false }: { value: Verdict | null; short?: boolean }) {
  if (value === null) return <span class="outcome-word">not judged</span>;
  const missing = missingOf(value);
  return missing ? <span class="outcome-word no">{short ? "failed" : `failed: ${missing}`}</span> : <span class="outcome-word yes">succeeded</span>;
}

/** The three parts of success as ticks with their names; `words` adds a sentence to each. No tick for an answer that nobody asked for. */
export function SuccessParts({ item, words = false }: { item: Item; words?: boolean }) {
  const value = item.verdict;
  if (value === null) return <p class="silent">Not judged: its messages or its reward do not fit its example.</p>;
  const parts = item.gold.length ? SUCCESS_PARTS : [IDLE, ...SUCCESS_PARTS.slice(1)];
  return (
    <ul class={`success-parts ${words ? "in-words" : ""}`} aria-label="success">
      {parts.map(({ name, yes, no }) => (name === "answer" && value.answer && item.answer_due === false ? <NoneDue key={name} words={words} /> :
        <li key={name} title={value[name] ? yes : no} class={value[name] ? "yes" : "no"}>
          <span class={`tick ${value[name] ? "yes" : "no"}`} aria-label={value[name] ? "right" : "wrong"}>{value[name] ? "✓" : "✗"}</span>
          <b>{name}</b>{words && <span class="said-of">{value[name] ? yes : no}</span>}
        </li>
      ))}
    </ul>
  );
}

const NONE_DUE = "no reply had to state or ask anything, and none claims something false";

function NoneDue({ words }: { words: boolean }) {
  return <li class="none-due" title={NONE_DUE}><span class="tick none">–</span><b>{words ? "answer" : "no answer due"}</b>{words && <span class="said-of">none due: {NONE_DUE}</span>}</li>;
}

export function Tag({ children, tone = "", title }: { children: preact.ComponentChildren; tone?: string; title?: string | undefined }) {
  return <span class={`tag ${tone}`} title={title}>{children}</span>;
}

/** The kinds of examples whose name misleads, in plain words, with what they mean. */
const KINDS: Record<string, [string, string]> = {
  clarification: ["tool hidden", "clarification, in the paper's words: the tool for one request is hidden, and the assistant must say so"],
};
export const kindName = (kind: string): string => (KINDS[kind] ? `${kind} (${KINDS[kind][0]})` : words(kind));
export const kindBrief = (kind: string): string => KINDS[kind]?.[0] ?? words(kind);
export const kindTitle = (kind: string): string | undefined => KINDS[kind]?.[1];

export const words = (name: string): string => name.replace(/(?<=[a-z])_(?=[a-z])/g, " ");
