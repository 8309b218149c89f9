/** One server: its tools and rules, a world of its own to try them on, and the records in it. */

import { useEffect, useState } from "preact/hooks";
import { sentence, useAsk } from "../ask";
import { data, type Change, type Fields, type Server } from "../data";
import { Failure } from "../data/live";
import { Icon } from "../parts/icons";
import { Answer, Problem } from "../parts/say";
import { WorldView } from "../parts/world";
import { first, go, link, type Route } from "../route";
import { Tools } from "./tools";

export interface Made {
  tool: string;
  arguments: Fields;
  ok: boolean;
  error: string | null;
  result: string;
  diff: Change[];
  writes: boolean;
  depth: number;
  reset?: boolean;
}

export interface Playing {
  made: Made[];
  depth: number;
  since: Change[];
  busy: boolean;
  error: string;
  session: string;
  call: (tool: string, writes: boolean, input: Fields) => Promise<void>;
  undo: () => Promise<void>;
  reset: () => Promise<void>;
}

/** A session opened by the first call; another seed is another world. */
function usePlaying(server: string, seed: number): Playing {
  const [session, setSession] = useState("");
  const [made, setMade] = useState<Made[]>([]);
  const [since, setSince] = useState<Change[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const forget = (): void => { setSession(""); setMade([]); setSince([]); };
  useEffect(() => { forget(); setError(""); }, [server, seed]);
  const guarded = async (act: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      await act();
    } catch (problem) {
      setError(sentence(problem));
      if (problem instanceof Failure && problem.status === 404) forget();
    } finally {
      setBusy(false);
    }
  };
  const depth = made.at(-1)?.depth ?? 0;
  return {
    made, depth, since, busy, error, session,
    call: (tool, writes, input) => guarded(async () => {
      const id = session || (await data.session(server, seed)).session;
      setSession(id);
      const answer = await data.call(id, tool, input);
      const result = typeof answer.result === "string" ? answer.result : JSON.stringify(answer.result);
      setMade((last) => [...last, { tool, arguments: input, ok: answer.ok, error: answer.error, result, diff: answer.diff, writes, depth: answer.depth }]);
      setSince((last) => answer.since ?? [...last, ...answer.diff]);
    }),
    undo: () => guarded(async () => {
      const answer = await data.undo(session);
      setMade((last) => last.filter((one) => one.depth <= answer.depth));
      setSince(answer.diff);
    }),
    reset: () => guarded(async () => {
      const answer = await data.reset(session);
      setMade((last) => [...last, { tool: "", arguments: {}, ok: true, error: null, result: "", diff: [], writes: false, depth: answer.depth, reset: true }]);
      setSince(answer.diff);
    }),
  };
}

export function ServerPage({ name, route }: { name: string; route: Route }) {
  const asked = useAsk(name, () => data.server(name));
  return <Answer asked={asked} what={`the server ${name}`}>{(server) => <Open server={server} route={route} />}</Answer>;
}

function Open({ server, route }: { server: Server; route: Route }) {
  const seed = Math.max(0, Math.floor(Number(first(route, "seed")) || 0));
  const tab = first(route, "tab") === "world" && !data.frozen ? "world" : "tools";
  const playing = usePlaying(server.name, seed);
  const set = (changes: Record<string, string>): void => go(link(["servers", server.name], { ...route.query, ...changes }), true);
  return (
    <div class="page server-page">
      <header class="top">
        <div class="crumbs"><a href={link(["servers"])}>Servers</a><span>/</span><h1>{server.title || server.name}</h1></div>
        <div class="tabs" role="tablist">
          <button type="button" role="tab" aria-selected={tab === "tools"} onClick={() => set({ tab: "" })}>Tools <small>{server.tools.length}</small></button>
          {!data.frozen && <button type="button" role="tab" aria-selected={tab === "world"} onClick={() => set({ tab: "world" })}>World</button>}
        </div>
        <a class="button" href={link(["graph", server.name])}>Graph</a>
        {!data.frozen && (
          <div class="session">
            <label>world <input type="number" min="0" step="1" value={seed} aria-label="seed of the world" onChange={(event) => set({ seed: event.currentTarget.value })} /></label>
            <span class="depth" role="status">{playing.since.length ? `${playing.since.length} ${playing.since.length === 1 ? "record" : "records"} changed` : "unchanged"}</span>
            <button type="button" disabled={!playing.depth || playing.busy} onClick={playing.undo}><Icon name="undo" /> Undo</button>
            <button type="button" disabled={!playing.since.length || playing.busy} onClick={playing.reset}>Reset</button>
          </div>
        )}
      </header>
      {playing.error && <Problem>{playing.error}</Problem>}
      {tab === "world"
        ? <WorldView server={server.name} seed={seed} playing={playing} route={route} set={set} />
        : <Tools server={server} seed={seed} playing={playing} route={route} set={set} />}
    </div>
  );
}
