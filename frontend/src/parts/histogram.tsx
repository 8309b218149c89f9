/** Histogram of a number; a range of it is chosen by dragging or typing. */

import { useRef, useState } from "preact/hooks";
import { grouped } from "./marks";

interface Props {
  title: string;
  counts: number[];
  edges: (at: number) => [number, number];
  least: string;
  most: string;
  step: number;
  choose: (least: string, most: string) => void;
}

export function Histogram({ title, counts, edges, least, most, step, choose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const tallest = Math.max(1, ...counts);
  const at = (event: PointerEvent): number => {
    const area = box.current!.getBoundingClientRect();
    const share = (event.clientX - area.left) / area.width;
    return Math.max(0, Math.min(counts.length - 1, Math.floor(share * counts.length)));
  };
  const chosen = (index: number): boolean => {
    if (drag) return index >= Math.min(...drag) && index <= Math.max(...drag);
    const [low, high] = edges(index);
    return (!least || high > Number(least) - 1e-9) && (!most || low < Number(most) + 1e-9);
  };
  const round = (value: number): string => String(Number(value.toFixed(3)));
  const done = (): void => {
    if (!drag) return;
    const low = Math.min(...drag), high = Math.max(...drag);
    setDrag(null);
    if (low === 0 && high === counts.length - 1) choose("", "");
    else choose(low === 0 ? "" : round(edges(low)[0]), high === counts.length - 1 ? "" : round(edges(high)[1]));
  };
  return (
    <fieldset class="facet">
      <legend>{title}{(least || most) && <button type="button" class="clear" onClick={() => choose("", "")}>clear</button>}</legend>
      <div
        class="histogram" ref={box} aria-hidden="true"
        onPointerDown={(event) => { box.current?.setPointerCapture(event.pointerId); setDrag([at(event), at(event)]); }}
        onPointerMove={(event) => drag && setDrag([drag[0], at(event)])}
        onPointerUp={done}
      >
        {counts.map((count, index) => (
          <span key={index} class={`bucket ${chosen(index) ? "" : "out"}`} title={`${edges(index).map(round).join(" – ")}: ${grouped(count)}`}>
            <i style={{ height: count ? `${Math.max(4, (count / tallest) * 100)}%` : "0" }} />
          </span>
        ))}
      </div>
      <div class="range">
        <input type="number" step={step} value={least} placeholder={round(edges(0)[0])} aria-label={`${title} at least`} onChange={(event) => choose(event.currentTarget.value, most)} />
        <span>to</span>
        <input type="number" step={step} value={most} placeholder={round(edges(counts.length - 1)[1])} aria-label={`${title} at most`} onChange={(event) => choose(least, event.currentTarget.value)} />
      </div>
    </fieldset>
  );
}
