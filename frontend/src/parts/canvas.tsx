/** The dependency graph as SVG, with pan, zoom and highlighting. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Graph, GraphEdge, Item } from "../data";
import { useKeys } from "../keys";
import { draw, HEIGHT, line, WIDTH, type Drawn } from "./drawing";
import { colour } from "./marks";

export type Picked = { tool: string } | { source: string; target: string; kind: GraphEdge["kind"] };

interface View { x: number; y: number; scale: number }
const LEAST = 0.2;
const MOST = 3;

/** What is highlighted: a chosen tool with its neighbours, a chosen edge, or the tools of an example. */
function lighting(graph: Graph, chain: Item | null, picked: Picked | null): { tools: Set<string>; edge: (one: Picked) => boolean } | null {
  if (picked && "tool" in picked) {
    const near = graph.edges.filter((edge) => edge.source === picked.tool || edge.target === picked.tool);
    return {
      tools: new Set([picked.tool, ...near.flatMap((edge) => [edge.source, edge.target])]),
      edge: (one) => "source" in one && (one.source === picked.tool || one.target === picked.tool),
    };
  }
  if (picked) {
    return {
      tools: new Set([picked.source, picked.target]),
      edge: (one) => "source" in one && one.source === picked.source && one.target === picked.target && one.kind === picked.kind,
    };
  }
  if (chain) return { tools: new Set(chain.gold.map((step) => step.tool)), edge: () => false };
  return null;
}

function useView(drawn: Drawn) {
  const box = useRef<SVGSVGElement>(null);
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const fit = (): void => {
    const area = box.current?.getBoundingClientRect();
    if (!area?.width) return;
    const scale = Math.max(LEAST, Math.min(1.25, area.width / drawn.width, area.height / drawn.height));
    setView({ scale, x: Math.max(0, (area.width - drawn.width * scale) / 2), y: Math.max(0, (area.height - drawn.height * scale) / 2) });
  };
  const zoom = (by: number, at?: { x: number; y: number }): void => setView((now) => {
    const area = box.current?.getBoundingClientRect();
    const point = at ?? { x: (area?.width ?? 0) / 2, y: (area?.height ?? 0) / 2 };
    const scale = Math.max(LEAST, Math.min(MOST, now.scale * by));
    const share = scale / now.scale;
    return { scale, x: point.x - (point.x - now.x) * share, y: point.y - (point.y - now.y) * share };
  });
  useEffect(fit, [drawn]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const wheel = (event: WheelEvent): void => {
      event.preventDefault();
      const area = element.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY * 0.0016), { x: event.clientX - area.left, y: event.clientY - area.top });
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);
  return { box, view, setView, fit, zoom };
}

type Choice = { picked: Picked | null; pick: (next: Picked | null) => void; hover: Picked | null; point: (at: Picked | null) => void };

export function Canvas({ graph, chain, picked, pick, hover, point }: { graph: Graph; chain: Item | null } & Choice) {
  const drawn = useMemo(() => draw(graph), [graph]);
  const { box, view, setView, fit, zoom } = useView(drawn);
  const lit = lighting(graph, chain, picked ?? (chain ? null : hover));
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  useKeys({ "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": fit });
  const move = (event: PointerEvent): void => {
    const from = drag.current;
    if (!from) return;
    const dx = event.clientX - from.x, dy = event.clientY - from.y;
    if (!from.moved && Math.hypot(dx, dy) < 3) return;
    box.current?.setPointerCapture(event.pointerId);
    drag.current = { x: event.clientX, y: event.clientY, moved: true };
    setView((now) => ({ ...now, x: now.x + dx, y: now.y + dy }));
  };
  const release = (event: PointerEvent): void => {
    const moved = drag.current?.moved;
    drag.current = null;
    if (!moved && event.target === box.current) pick(null);
  };
  if (!graph.nodes.length) return <p class="say nothing">This server has no tools.</p>;
  return (
    <div class="canvas">
      <svg class={`graph ${lit ? "busy" : ""}`} ref={box} data-width={drawn.width} data-height={drawn.height} role="group" aria-label={`dependency graph of ${graph.server}`}
        onPointerDown={(event) => (drag.current = { x: event.clientX, y: event.clientY, moved: false })} onPointerMove={move} onPointerUp={release}>
        <g class="world" transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
          {drawn.bundles.map((bundle) => {
            const me: Picked = { source: bundle.source, target: bundle.target, kind: bundle.kind };
            return (
              <g key={`${bundle.source}~${bundle.target}~${bundle.kind}`} class={`edge ${bundle.kind} ${lit ? (lit.edge(me) ? "lit" : "dim") : ""}`}
                onMouseEnter={() => point(me)} onMouseLeave={() => point(null)} onClick={() => pick(me)}>
                <title>{`${bundle.source} → ${bundle.target} (${bundle.kind})`}</title>
                <path d={bundle.path} /><path class="hit" d={bundle.path} />
              </g>
            );
          })}
          {chain && !picked && <Chain chain={chain} drawn={drawn} />}
          {[...drawn.spots].map(([id, { x, y, node }]) => (
            <g key={id} class={`node ${node.writes ? "write" : ""} ${lit ? (lit.tools.has(id) ? "lit" : "dim") : ""}`} role="button" tabIndex={0} aria-label={`${id}${node.writes ? ", writes" : ""}`}
              onMouseEnter={() => point({ tool: id })} onMouseLeave={() => point(null)} onClick={() => pick({ tool: id })}
              onKeyDown={(event) => event.key === "Enter" && pick({ tool: id })}>
              <title>{id}</title>
              <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx={5} />
              <text x={x + 8} y={y + HEIGHT / 2 + 4} {...(id.length > 26 ? { textLength: WIDTH - 14, lengthAdjust: "spacingAndGlyphs" } : {})}>{id}</text>
            </g>
          ))}
          {chain && !picked && <Orders chain={chain} drawn={drawn} />}
        </g>
      </svg>
      <div class="zoom" role="group" aria-label="zoom">
        <button type="button" aria-label="zoom in" onClick={() => zoom(1.25)}>+</button>
        <button type="button" aria-label="zoom out" onClick={() => zoom(0.8)}>−</button>
        <button type="button" aria-label="fit" title="fit (0)" onClick={fit}>⤢</button>
      </div>
      <ul class="key-list" aria-label="legend">
        <li><i class="k explicit" /> carries a value</li><li><i class="k implicit" /> must come first</li>
        <li><i class="k read" /> reads</li><li><i class="k write" /> writes</li>
      </ul>
    </div>
  );
}

function Chain({ chain, drawn }: { chain: Item; drawn: Drawn }) {
  return (
    <>
      {chain.gold.flatMap((step) => step.needs.map((need) => {
        const from = chain.gold[need.step];
        return from && <path key={`${need.step}-${step.step}`} class={`chain ${colour(need.step)} ${need.kind}`} d={line(drawn.spots, from.tool, step.tool)} />;
      }))}
    </>
  );
}

/** The numbers of the steps on the tools they call. */
function Orders({ chain, drawn }: { chain: Item; drawn: Drawn }) {
  const taken = new Map<string, number>();
  return (
    <>
      {chain.gold.map((step) => {
        const spot = drawn.spots.get(step.tool);
        if (!spot) return null;
        const before = taken.get(step.tool) ?? 0;
        taken.set(step.tool, before + 1);
        const x = spot.x + WIDTH - 4 - before * 18, y = spot.y;
        return <g key={step.step} class={`order ${colour(step.step)}`}><circle cx={x} cy={y} r={8.5} /><text x={x} y={y + 3.8}>{step.step + 1}</text></g>;
      })}
    </>
  );
}
