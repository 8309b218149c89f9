/** What the home page tells: the newest files of rollouts, the one before over the same examples, and runs. */

import { data, type Figures, type Metrics, type Rates, type Run, type Showcase, type Source } from "./data";

const FILES = 6;
const RUNS = 5;
const TRIED = 3;
/** A run of at least twice so many steps is summed up by so many steps at its start and its end. */
const EDGE = 5;

export interface Measured {
  source: Source;
  figures: Figures;
}

/** The newest file beside an older one over the same examples, or over those that both have. */
export interface Progress {
  before: Source;
  after: Source;
  pairs: number;
  left: { reward: number | null; rates: Rates };
  right: { reward: number | null; rates: Rates };
}

export interface Headline {
  files: Measured[];
  progress: Progress | null;
  showcase: Showcase | null;
}

export const newestFirst = (sources: Source[]): Source[] =>
  [...sources].sort((one, other) => (other.modified ?? 0) - (one.modified ?? 0) || other.id - one.id);

/** Figures of the newest files, and what changed from the file before. */
export async function tellFiles(sources: Source[]): Promise<Headline> {
  const files = await Promise.all(newestFirst(sources).slice(0, FILES).map(async (source) => ({ source, figures: await data.figures(source.id) })));
  const [newest, ...older] = files;
  if (!newest) return { files, progress: null, showcase: null };
  const progress = await progressOf(newest, older);
  const contrast = progress && (await data.showcase(progress.before.id, newest.source.id));
  return { files, progress, showcase: contrast ?? (await data.showcase(null, newest.source.id)) };
}

async function progressOf(newest: Measured, older: Measured[]): Promise<Progress | null> {
  const same = older.find(({ figures }) => figures.examples === newest.figures.examples);
  if (same) {
    return { before: same.source, after: newest.source, pairs: newest.figures.count, left: same.figures, right: newest.figures };
  }
  // A report with a selection of the rows knows the figures of whole files only.
  if (data.frozen && (newest.source.shown ?? 0) < newest.source.count) return null;
  for (const { source } of older.slice(0, TRIED)) {
    const found = await data.compare(source.id, newest.source.id, "", 0, 0);
    if (found.pairs < 2) continue;
    return {
      before: source, after: newest.source, pairs: found.pairs,
      left: { reward: found.mean_left, rates: found.rates_left }, right: { reward: found.mean_right, rates: found.rates_right },
    };
  }
  return null;
}

export interface RunTold {
  source: Source;
  run: Run;
}

export function tellRuns(sources: Source[]): Promise<RunTold[]> {
  return Promise.all(newestFirst(sources).slice(0, RUNS).map(async (source) => ({ source, run: await data.run(source.id, 0) })));
}

export interface Edges {
  first: number;
  last: number;
}

/** The number of steps that the start and the end of a run are averaged over. */
export const edgeOf = (steps: Metrics[]): number => (steps.length >= 2 * EDGE ? EDGE : 1);

/** A metric at the start and at the end of a run; null where the run does not have it. */
export function edges(steps: Metrics[], name: string): Edges | null {
  const known = steps.map((line) => line[name]).filter((value) => typeof value === "number");
  if (!known.length) return null;
  const count = edgeOf(steps);
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return { first: mean(known.slice(0, count)), last: mean(known.slice(-count)) };
}
