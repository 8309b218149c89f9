/** Small marks that mean the same on every page: steps, rewards, success, tags. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";

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

export function Success({ value }: { value: boolean | null }) {
  if (value === null) return <span class="success none" aria-label="not judged">·</span>;
  return value
    ? <span class="success yes" title="the task was done" aria-label="succeeded">✓</span>
    : <span class="success no" title="the task was not done" aria-label="failed">✗</span>;
}

export function Tag({ children, tone = "" }: { children: preact.ComponentChildren; tone?: string }) {
  return <span class={`tag ${tone}`}>{children}</span>;
}

export const words = (name: string): string => name.replace(/(?<=[a-z])_(?=[a-z])/g, " ");
