/** The list of sources, polled for every page. */

import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { sentence, useTicks } from "./ask";
import { data, type Source, type Sources } from "./data";

export interface Known extends Sources {
  error: string;
  ready: boolean;
}

const NOTHING: Known = { sources: [], version: "", error: "", ready: false };
const INDEXING = 300;
const IDLE = 4000;

export const KnownSources = createContext<Known>(NOTHING);

export function useSourcesPolling(): Known {
  const [known, setKnown] = useState<Known>(NOTHING);
  const refresh = async (): Promise<void> => {
    try {
      const answer = await data.sources();
      setKnown((last) => (last.ready && !last.error && same(last, answer) ? last : { ...answer, error: "", ready: true }));
    } catch (problem) {
      setKnown((last) => ({ ...last, error: sentence(problem), ready: true }));
    }
  };
  const busy = !known.ready || known.sources.some((source) => !source.done);
  useTicks(data.frozen && known.ready ? null : !known.ready ? 0 : busy ? INDEXING : IDLE, refresh);
  return known;
}

const same = (one: Sources, other: Sources): boolean => one.worlds === other.worlds && JSON.stringify(one.sources) === JSON.stringify(other.sources);

export function useSources(): Known {
  return useContext(KnownSources);
}

export const ofKind = (known: Known, ...kinds: Source["kind"][]): Source[] =>
  known.sources.filter((source) => kinds.includes(source.kind));

export const named = (known: Known, id: number): Source | undefined =>
  known.sources.find((source) => source.id === id);

/** Names without the folder that all sources are in. */
export function useBrief(): (source: Source) => string {
  const { sources } = useSources();
  const [folder] = sources[0]?.name.split("/") ?? [];
  const shared = `${folder}/`;
  const all = sources.length > 1 && sources.every((one) => one.name.startsWith(shared));
  return (source) => (all ? source.name.slice(shared.length) : source.name);
}

/** Where a source opens. */
export function home(source: Source): (string | number)[] {
  return source.kind === "run" ? ["runs", source.id] : ["data", source.id];
}
