/** What a page says when it has nothing to show yet, nothing at all, or something went wrong. */

import type { ComponentChildren } from "preact";
import type { Asked } from "../ask";

export function Waiting({ what }: { what: string }) {
  return <p class="say waiting" role="status">Reading {what} …</p>;
}

export function Problem({ children }: { children: ComponentChildren }) {
  return <p class="say problem" role="alert">{children}</p>;
}

export function Nothing({ children }: { children: ComponentChildren }) {
  return <p class="say nothing">{children}</p>;
}

/** The answer, once there; before that a sentence. */
export function Answer<T>({ asked, what, children }: {
  asked: Asked<T>;
  what: string;
  children: (value: T) => ComponentChildren;
}) {
  if (asked.error) return <Problem>{asked.error}</Problem>;
  if (asked.value === null) return <Waiting what={what} />;
  return <>{children(asked.value)}</>;
}
