/** Whether a rollout succeeded, and shares over many rollouts. */

import type { Rates, Verdict } from "./types";

export function succeeded(verdict: Verdict): boolean {
  return Boolean(verdict.state && verdict.answer && verdict.ended);
}

/** The shares over some rollouts. One that cannot be judged counts as a failure. */
export function ratesOf(verdicts: (Verdict | null)[]): Rates {
  const share = (part: (verdict: Verdict) => boolean | undefined): number =>
    verdicts.filter((verdict) => verdict && part(verdict)).length / Math.max(1, verdicts.length);
  return { success: share(succeeded), state: share(({ state }) => state), answer: share(({ answer }) => answer), ended: share(({ ended }) => ended) };
}
