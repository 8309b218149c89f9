/** Waiting for data: what is there, what went wrong, and whether more is on its way. */

import { useEffect, useRef, useState } from "preact/hooks";

export interface Asked<T> {
  value: T | null;
  error: string;
  waiting: boolean;
}

export function sentence(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

/** Ask when the key changes; the last answer stays on screen until the next is there. */
export function useAsk<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ value: null, error: "", waiting: true });
  useEffect(() => {
    const stop = new AbortController();
    setAsked((last) => ({ ...last, error: "", waiting: true }));
    ask(stop.signal).then(
      (value) => stop.signal.aborted || setAsked({ value, error: "", waiting: false }),
      (problem) =>
        stop.signal.aborted || setAsked((last) => ({ ...last, error: sentence(problem), waiting: false })),
    );
    return () => stop.abort();
  }, [key]);
  return asked;
}

/** Do something now and then, never twice at once, until the component goes. */
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
