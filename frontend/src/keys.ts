/** Keyboard shortcuts: single keys, and "g" followed by another; ignored while a field has the focus. */

import { useLayoutEffect, useRef } from "preact/hooks";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

const PATIENCE = 1500;
let prefix = "";
let since = 0;

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return ["TEXTAREA", "SELECT"].includes(target.tagName);
}

/** What a key is called: "j", "g s", "ArrowDown". */
function named(event: KeyboardEvent): string {
  const name = prefix && event.timeStamp - since < PATIENCE ? `${prefix} ${event.key}` : event.key;
  prefix = name === "g" ? name : "";
  since = event.timeStamp;
  return name;
}

const stack: { current: Keys }[] = [];

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (typing(event.target)) {
    if (event.key === "Escape") (event.target as HTMLElement).blur();
    return;
  }
  if (event.key === "Enter" && event.target instanceof Element && event.target.closest("a, button, summary")) return;
  const name = named(event);
  for (const keys of [...stack].reverse()) {
    const act = keys.current[name];
    if (act) {
      event.preventDefault();
      act(event);
      return;
    }
  }
});

/** Listen to keys from the moment a component is seen, while it is there; later components come first. */
export function useKeys(keys: Keys): void {
  const now = useRef(keys);
  now.current = keys;
  useLayoutEffect(() => {
    stack.push(now);
    return () => void stack.splice(stack.indexOf(now), 1);
  }, []);
}
