/** Coordinates of the boxes and lines of a graph, and its export as an SVG file. */

import type { Graph, GraphEdge, GraphNode } from "../data";

export const WIDTH = 168;
export const HEIGHT = 24;
const GAP_X = { few: 96, many: 60, columns: 3 };
const GAP_Y = { least: 11, most: 52, shape: 0.86 };
const MARGIN = 20;
const LOOP = 60;

export interface Bundle {
  source: string;
  target: string;
  kind: GraphEdge["kind"];
  edges: GraphEdge[];
  path: string;
}

export interface Drawn {
  width: number;
  height: number;
  spots: Map<string, { x: number; y: number; node: GraphNode }>;
  bundles: Bundle[];
}

/** Places every tool by its layer (a column) and its place in it; short layers are spread over the height. */
export function draw(graph: Graph): Drawn {
  const byColumn = new Map<number, GraphNode[]>();
  for (const node of graph.nodes) byColumn.set(node.x, [...(byColumn.get(node.x) ?? []), node]);
  const columns = [...byColumn.keys()].sort((one, other) => one - other);
  const tallest = Math.max(1, ...[...byColumn.values()].map((nodes) => nodes.length));
  const across = columns.length > GAP_X.columns ? GAP_X.many : GAP_X.few;
  const width = 2 * MARGIN + LOOP + columns.length * (WIDTH + across) - across;
  const gap = Math.max(GAP_Y.least, Math.min(GAP_Y.most, (width * GAP_Y.shape) / tallest - HEIGHT));
  const spots: Drawn["spots"] = new Map();
  columns.forEach((column, number) => {
    const nodes = [...(byColumn.get(column) ?? [])].sort((one, other) => one.y - other.y);
    const room = (tallest * (HEIGHT + gap)) / nodes.length;
    nodes.forEach((node, row) => spots.set(node.id, {
      x: MARGIN + number * (WIDTH + across), y: MARGIN + (row + 0.5) * room - HEIGHT / 2, node,
    }));
  });
  const bundles = new Map<string, Bundle>();
  for (const edge of graph.edges) {
    const key = `${edge.source}~${edge.target}~${edge.kind}`;
    const known = bundles.get(key);
    if (known) known.edges.push(edge);
    else bundles.set(key, { source: edge.source, target: edge.target, kind: edge.kind, edges: [edge], path: line(spots, edge.source, edge.target, edge.kind === "explicit" ? -3 : 3) });
  }
  return {
    width,
    height: 2 * MARGIN + tallest * (HEIGHT + gap),
    spots,
    bundles: [...bundles.values()],
  };
}

/** The curve of an edge: from the right side of one box to the left side of another, or the other way round. */
export function line(spots: Drawn["spots"], source: string, target: string, shift = 0): string {
  const from = spots.get(source), to = spots.get(target);
  if (!from || !to) return "";
  const out = to.x < from.x ? -1 : 1, into = to.x > from.x ? -1 : 1;
  const x1 = from.x + (out > 0 ? WIDTH : 0), x2 = to.x + (into > 0 ? WIDTH : 0);
  const y1 = from.y + HEIGHT / 2 + shift, y2 = to.y + HEIGHT / 2 + shift;
  const bend = from.x === to.x ? 26 + Math.abs(y2 - y1) / 9 : Math.max(36, Math.abs(x2 - x1) / 2);
  const p = (value: number): string => value.toFixed(1);
  return `M${p(x1)} ${p(y1)}C${p(x1 + out * bend)} ${p(y1)} ${p(x2 + into * bend)} ${p(y2)} ${p(x2 + into * 2)} ${p(y2)}m${into * 4} -3l${-into * 4} 3l${into * 4} 3`;
}

const LOOK = `
text { font: 11px ui-sans-serif, system-ui, sans-serif; fill: #1d2433; }
.node rect { fill: #eef3fb; stroke: #7d93b8; } .node.write rect { fill: #fdf1e3; stroke: #c58a3d; }
.edge path { fill: none; stroke: #4a72b8; stroke-opacity: .4; stroke-width: 1.2; } .edge.implicit path { stroke: #c2571a; stroke-dasharray: 5 3; }
.edge .hit { stroke: none; } .chain { fill: none; stroke: #0d8f7f; stroke-width: 2.4; } .order circle { fill: #0d8f7f; } .order text { fill: #fff; font-weight: 700; text-anchor: middle; }
.node.dim, .edge.dim { opacity: .25; }`;

/** Saves the whole graph, with the present highlighting, as an SVG file. */
export function saveSvg(name: string): void {
  const shown = document.querySelector<SVGSVGElement>("svg.graph");
  if (!shown) return;
  const copy = shown.cloneNode(true) as SVGSVGElement;
  const { width, height } = shown.dataset;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", width ?? "800");
  copy.setAttribute("height", height ?? "600");
  copy.querySelector("g.world")?.removeAttribute("transform");
  const look = document.createElementNS("http://www.w3.org/2000/svg", "style");
  look.textContent = LOOK;
  copy.prepend(look);
  const file = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(file);
  anchor.download = `${name}.svg`;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}
