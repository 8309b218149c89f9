/** Requests of a component: the answer, the error, and whether one is under way. */

import { useEffect, useRef, useState } from "preact/hooks";

export interface Asked<T> {
  value: T | null;
  error: string;
  waiting: boolean;
}

export function sentence(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

/** Asks when the key changes; until the answer is there, the last one stays (stale while revalidate). */
export function useAsk<T>(key: string, ask: () => Promise<T>): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ value: null, error: "", waiting: true });
  useEffect(() => {
    let stale = false;
    setAsked((last) => ({ ...last, error: "", waiting: true }));
    ask().then(
      (value) => stale || setAsked({ value, error: "", waiting: false }),
      (problem) => stale || setAsked((last) => ({ ...last, error: sentence(problem), waiting: false })),
    );
    return () => {
      stale = true;
    };
  }, [key]);
  return asked;
}

/** Polls: acts every so many milliseconds, one call at a time, until the component is unmounted. */
export function useTicks(milliseconds: number | null, act: () => Promise<unknown> | void): void {
  const now = useRef(act);
  now.current = act;
  useEffect(() => {
    if (milliseconds === null) return;
    let timer = 0;
    let gone = false;
    const tick = async (): Promise<void> => {
      await now.current();
      if (!gone) timer = window.setTimeout(tick, milliseconds);
    };
    timer = window.setTimeout(tick, milliseconds);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [milliseconds]);
}
