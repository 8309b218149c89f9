/** Sixteen-pixel line drawings. */

const DRAWN = {
  mark: "M2.5 12.5 6 3.5l3 6 1.8-3.4L13.5 12.5M2.5 12.5h11",
  home: "M2.5 7.5 8 2.8l5.5 4.7M4 6.5v6.7h8V6.5M6.7 13.2V9.5h2.6v3.7",
  list: "M2.5 4h1M6 4h7.5M2.5 8h1M6 8h7.5M2.5 12h1M6 12h7.5",
  compare: "M5.5 2.5v11M10.5 2.5v11M1.5 5.5h2.5M1.5 9.5h2.5M12 5.5h2.5M12 9.5h2.5",
  runs: "M2.5 2.5v11h11M4.5 10.5l3-3.5 2 2 4-5",
  servers: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  graph: "M4 4.2a1.7 1.7 0 1 0 0-.01M12 4.2a1.7 1.7 0 1 0 0-.01M8 12.2a1.7 1.7 0 1 0 0-.01M4.4 5.8l2.6 4.8M11.4 5.8 9 10.6M5.8 4.1h4.3",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6z",
  system: "M2 3h12v8H2zM6 13.5h4M8 11v2.5",
  left: "M9.8 3.5 5.5 8l4.3 4.5",
  right: "M6.2 3.5 10.5 8l-4.3 4.5",
  undo: "M5.5 3.5 2.5 6.5l3 3M2.5 6.5h7a3.5 3.5 0 0 1 0 7H6",
  link: "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9a2.6 2.6 0 0 0 3.7 3.7l.9-.9",
} as const;

export type IconName = keyof typeof DRAWN;

export function Icon({ name }: { name: IconName }) {
  return <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d={DRAWN[name]} /></svg>;
}
