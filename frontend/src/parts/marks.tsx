/** Small marks that mean the same on every page: steps, rewards, success, tags. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Verdict } from "../data";

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

/** The parts of success: what each says of a rollout that has it, and of one that lacks it. */
export const SUCCESS_PARTS: { name: keyof Verdict; yes: string; no: string }[] = [
  { name: "state", yes: "the final world is right, and the evidence for each answer was seen", no: "the final world is wrong, or the evidence for an answer was not seen" },
  { name: "answer", yes: "the replies say what they should", no: "a reply lacks what was asked, does not ask for what is missing, or claims a deed that was not done" },
  { name: "ended", yes: "the conversation came to its end", no: "the conversation was cut off, or a turn has no reply" },
];

/** One mark for success; it says which parts are missing. */
export function Success({ value }: { value: Verdict | null }) {
  if (value === null) return <span class="success none" aria-label="not judged">·</span>;
  const missing = SUCCESS_PARTS.filter(({ name }) => !value[name]).map(({ name }) => name).join(", ");
  return missing
    ? <span class="success no" title={`failed: ${missing}`} aria-label={`failed: ${missing}`}>✗</span>
    : <span class="success yes" title="succeeded: state, answer and end are right" aria-label="succeeded">✓</span>;
}

/** The three parts of success as marks with their names; `words` adds a sentence to each. */
export function SuccessParts({ value, words = false }: { value: Verdict | null; words?: boolean }) {
  if (value === null) return <p class="silent">Not judged: its messages or its reward do not fit its example.</p>;
  return (
    <ul class={`success-parts ${words ? "in-words" : ""}`} aria-label="success">
      {SUCCESS_PARTS.map(({ name, yes, no }) => (
        <li key={name} title={value[name] ? yes : no}>
          <span class={`success ${value[name] ? "yes" : "no"}`} aria-label={value[name] ? "right" : "wrong"}>{value[name] ? "✓" : "✗"}</span>
          <b>{name}</b>{words && <span class="said-of">{value[name] ? yes : no}</span>}
        </li>
      ))}
    </ul>
  );
}

export function Tag({ children, tone = "" }: { children: preact.ComponentChildren; tone?: string }) {
  return <span class={`tag ${tone}`}>{children}</span>;
}

export const words = (name: string): string => name.replace(/(?<=[a-z])_(?=[a-z])/g, " ");
