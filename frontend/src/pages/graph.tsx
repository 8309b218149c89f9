/** The proven dependency graph of a server, with the evidence of every edge. */

import { useMemo, useState } from "preact/hooks";
import { useAsk } from "../ask";
import { data, type Graph, type Item } from "../data";
import { useKeys } from "../keys";
import { Canvas, type Picked } from "../parts/canvas";
import { saveSvg } from "../parts/drawing";
import { Evidence } from "../parts/evidence";
import { Answer, Nothing, Problem } from "../parts/say";
import { first, go, link, type Route } from "../route";

export function GraphPage({ name, route }: { name: string; route: Route }) {
  const graphs = useAsk("graphs", () => data.graphs());
  if (graphs.error) return <Problem>{graphs.error}</Problem>;
  const names = graphs.value ?? [];
  const shown = name || names[0] || "";
  return (
    <div class="page graph-page">
      <header class="top">
        <h1>Graph</h1>
        <select aria-label="server" value={shown} onChange={(event) => go(link(["graph", event.currentTarget.value]))}>
          {[...new Set([...names, ...(name ? [name] : [])])].map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
        <p class="lead">Each edge was proven by running it both ways.</p>
        <button type="button" class="save" disabled={!shown} onClick={() => saveSvg(shown)}>Save as SVG</button>
      </header>
      {graphs.value && !shown && <Nothing>{data.frozen ? "This report carries no graph." : "No server is here, so there is no graph."}</Nothing>}
      {shown && <Shown key={shown} name={shown} route={route} />}
    </div>
  );
}

function Shown({ name, route }: { name: string; route: Route }) {
  const asked = useAsk(name, () => data.graph(name));
  const example = first(route, "example");
  const chain = useAsk(example, async (): Promise<Item | null> => {
    if (!example) return null;
    const [source, at] = example.split(":").map(Number);
    return data.item(source ?? 0, at ?? 0, {});
  });
  return (
    <Answer asked={asked} what={`the graph of ${name} (proving it takes a moment the first time)`}>
      {(graph) => <Whole graph={graph} chain={chain.value} problem={chain.error} route={route} />}
    </Answer>
  );
}

function Whole({ graph, chain, problem, route }: { graph: Graph; chain: Item | null; problem: string; route: Route }) {
  const picked = useMemo((): Picked | null => {
    const tool = first(route, "tool");
    if (tool) return { tool };
    const [source, target, kind] = first(route, "edge").split("~");
    return source && target && (kind === "explicit" || kind === "implicit") ? { source, target, kind } : null;
  }, [route]);
  const pick = (next: Picked | null): void => go(link(["graph", graph.server], {
    example: first(route, "example"),
    tool: next && "tool" in next ? next.tool : "",
    edge: next && "source" in next ? `${next.source}~${next.target}~${next.kind}` : "",
  }), true);
  useKeys({ Escape: () => pick(null) });
  const [hover, point] = useState<Picked | null>(null);
  const told = picked ?? (hover && "source" in hover ? hover : null);
  return (
    <div class="graph-body">
      {problem && <Problem>{problem}</Problem>}
      <Canvas graph={graph} chain={chain} picked={picked} pick={pick} hover={hover} point={point} />
      <Evidence graph={graph} chain={chain} picked={told} pick={pick} drop={() => go(link(["graph", graph.server]), true)} />
    </div>
  );
}
