/** Virtual list (windowing): of a list of any length, only the rows in view are in the DOM. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const OVERSCAN = 8;

interface Props {
  total: number;
  height: number;
  cursor: number;
  label: string;
  kept: string;
  seen: (first: number, last: number) => void;
  children: (index: number) => ComponentChildren;
}

const places = new Map<string, number>();

export function Virtual({ total, height, cursor, label, kept, seen, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  const from = Math.max(0, Math.floor(top / height) - OVERSCAN);
  const to = Math.min(total, Math.ceil((top + room) / height) + OVERSCAN);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    setRoom(element.clientHeight);
    const watch = new ResizeObserver(() => setRoom(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = places.get(kept) ?? 0;
  }, [kept, total > 0]);
  useEffect(() => seen(from, to), [from, to, kept, total]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || cursor < 0) return;
    const at = cursor * height;
    if (at < element.scrollTop) element.scrollTop = at;
    else if (at + height > element.scrollTop + element.clientHeight) element.scrollTop = at + height - element.clientHeight;
  }, [cursor]);

  const rows = [];
  for (let index = from; index < to; index++) {
    rows.push(
      <div class="virtual-row" key={index} style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}>
        {children(index)}
      </div>,
    );
  }
  const scrolled = (): void => {
    const now = box.current?.scrollTop ?? 0;
    places.set(kept, now);
    setTop(now);
  };
  return (
    <div class="virtual" ref={box} onScroll={scrolled} role="list" aria-label={label} tabIndex={0}>
      <div class="virtual-all" style={{ height: `${total * height}px` }}>{rows}</div>
    </div>
  );
}
