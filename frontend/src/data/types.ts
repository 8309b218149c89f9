/** The data of the page: what the server answers, and what the pages get from it. */

import type { Batch } from "./table";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Fields = Record<string, Json>;

export interface Source {
  id: number;
  name: string;
  path: string;
  kind: "examples" | "rollouts" | "run" | "problem";
  count: number;
  bytes: number;
  read?: number;
  done: boolean;
  problem: string;
  run?: number;
  step?: number;
  shown?: number;
  /** When its files were last written, in seconds since 1970. */
  modified?: number;
}

export interface Sources {
  sources: Source[];
  version: string;
  /** How many drawn worlds are in the folders. */
  worlds?: number;
}

/** Whether a rollout succeeded, in three parts; a part that is false is left out. */
export interface Verdict {
  state?: boolean;
  answer?: boolean;
  ended?: boolean;
}

export interface Row {
  at: number;
  id: string;
  server: string;
  kind: string;
  calls: number;
  reward: number | null;
  verdict: Verdict | null;
  errors: string[];
  knobs: string[];
  text: string;
}

export interface Rows {
  total: number;
  of: number;
  done: boolean;
  took_ms: number;
  rows: Row[];
}

export type Counts = Record<string, number>;

export interface Facets {
  server: Counts;
  kind: Counts;
  knob: Counts;
  error: Counts;
  policy: Counts;
  ending: Counts;
  success: Counts;
  state: Counts;
  answer: Counts;
  ended: Counts;
  calls: Counts;
  reward: number[];
}

/** Filters and sort order of a list, exactly as they stand in the link. */
export type Query = Record<string, string[]>;

export interface Change {
  server: string;
  table: string;
  key: string;
  before?: Fields | null;
  after?: Fields | null;
}

export interface Need {
  step: number;
  kind: "explicit" | "implicit";
}

export interface Alternative {
  tool: string;
  arguments?: Fields;
}

/** What one record of a result shows: these fields, in a record about these values. */
export interface Fact {
  fields?: Fields;
  about?: Json[];
}

/** What a read is needed for; `tied` means that only this very call shows it. */
export interface Evidence {
  facts?: Fact[];
  tied?: boolean;
}

export interface Step {
  turn: number;
  tool: string;
  arguments?: Fields;
  writes?: boolean;
  answers?: string[];
  needs?: Need[];
  alternatives?: Alternative[];
}

export interface Turn {
  text: string;
  minutes?: number;
  asks?: string | null;
}

export interface Example {
  id: string;
  kind: string;
  server: string;
  server_version: number;
  seed: number;
  digest: string;
  system: string;
  turns: Turn[];
  paths?: { steps?: Step[] }[];
  outcome?: Change[];
  toolbox?: { distractors?: string[]; hidden?: string[]; stripped?: string[]; limit?: number | null };
  knobs?: string[];
  provenance?: Fields;
}

export interface Call {
  turn: number;
  message: number;
  tool: string;
  arguments: Fields | null;
  writes?: boolean;
  checks?: { shown?: boolean; fits?: boolean; ran?: boolean };
  error?: string | null;
  result?: string;
  diff?: Change[];
}

export interface Message {
  role: string;
  content?: Json;
  tool_calls?: { id?: string; function?: { name?: string; arguments?: string } }[];
  tool_call_id?: string;
  reasoning_content?: Json;
}

export interface Rollout {
  policy: string;
  messages: Message[];
  calls?: Call[];
  ended?: string;
  reason?: string;
  tokens?: number;
  outcome?: Change[];
  reward?: { total: number; path?: number; greedy?: boolean } | null;
}

export interface Served {
  call: number;
  step: number;
  in_order: boolean;
  equal: number;
  how?: string;
}

export interface Part {
  name: string;
  about: string;
  value: number;
  weight: number;
  paid: number;
}

export interface GoldStep {
  step: number;
  turn: number;
  tool: string;
  arguments: Fields;
  writes: boolean;
  needs: Need[];
  evidence: Evidence | null;
  alternatives: Alternative[];
  result?: string;
  diff?: Change[];
}

export interface Item {
  kind: "example" | "rollout";
  at: number;
  example: Example;
  rollout: Rollout | null;
  explain: string[];
  served: Served[];
  parts: Part[];
  total: number | null;
  best: number | null;
  verdict: Verdict | null;
  /** Whether some reply has to state, ask, decline or respond to something. */
  answer_due?: boolean;
  gold: GoldStep[];
  /** Why nothing is to be called, by the turns that have no right call. */
  why?: Record<string, string>;
  path?: number;
  notes?: string[];
}

/** An item, and its neighbours in the list it was opened from. */
export interface Placed extends Item {
  previous: number | null;
  next: number | null;
  place: number | null;
  total_items: number;
}

export interface Pairing {
  id: string;
  left: number;
  right: number;
  left_reward: number | null;
  right_reward: number | null;
  difference: number;
  left_verdict: Verdict | null;
  right_verdict: Verdict | null;
  changed: string[];
}

/** The shares of rollouts that succeeded, and that have each part of success. */
export interface Rates {
  success: number;
  state: number;
  answer: number;
  ended: number;
}

/** Means over all rollouts of a file; files with the same `examples` have the same examples. */
export interface Figures {
  count: number;
  examples: string;
  reward: number | null;
  rates: Rates;
  policies: string[];
}

export interface Comparison {
  pairs: number;
  only_left: number;
  only_right: number;
  mean_left: number | null;
  mean_right: number | null;
  rates_left: Rates;
  rates_right: Rates;
  wins_left: number;
  wins_right: number;
  ties: number;
  done: boolean;
  rows: Pairing[];
}

export interface Pair {
  left: Item;
  right: Item;
  first_difference: number | null;
}

/** The lines of a rollout that succeeded and, of a contrast, of one that did not. */
export interface Showcase {
  left: number | null;
  right: number;
}

export type Metrics = Record<string, Json>;

export interface Run {
  name: string;
  recipe: string;
  versions: Record<string, Json>;
  steps: Metrics[];
  total: number;
  samples: { step: number; file_source: number; count: number }[];
  running: boolean;
  planned?: number | null;
  generation?: number;
  problem?: string;
}

export interface Watched {
  id: string;
  steps: { step: number; source: number; at: number; reward: number | null }[];
}

export interface ServerCard {
  name: string;
  title: string;
  category: string;
  summary: string;
  tools: number;
  reads: number;
  writes: number;
  version: number | string;
  /** A world that is data, from a world file; its verdict says whether it was admitted. */
  drawn?: boolean;
  source?: string;
  verdict?: string;
}

/** The result of the admission of a drawn world: why it was refused, and what was measured. */
export interface Admission {
  admitted: boolean;
  reasons?: string[];
  details?: string[];
  figures?: Record<string, number>;
}

export interface WorldFile {
  hash: string;
  source: string;
  spec: string;
  admission: Admission | null;
}

export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: Json[];
  default?: Json;
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
}

export interface Tool {
  name: string;
  description: string;
  writes: boolean;
  destructive?: boolean;
  sensitive?: string[];
  input_schema: Schema;
  output_schema: Schema | null;
}

export interface Server {
  name: string;
  title?: string;
  summary: string;
  rules: string;
  records?: { table: string; noun: string; about: string }[];
  tools: Tool[];
  world?: WorldFile;
}

export interface Table {
  name: string;
  noun: string;
  columns: string[];
  rows: Json[][];
  total: number;
}

export interface World {
  now: string;
  tables: Table[];
}

export interface Called {
  ok: boolean;
  error: string | null;
  result: Json;
  diff: Change[];
  depth: number;
  since?: Change[];
}

export interface Undone {
  depth: number;
  diff: Change[];
}

export interface Trial {
  tool: string;
  arguments: Fields;
  ok: boolean;
  result: string;
}

export interface GraphNode {
  id: string;
  writes: boolean;
  x: number;
  y: number;
}

export interface GraphEdge {
  source: string;
  target: string;
  kind: "explicit" | "implicit";
  argument?: string;
  pointer?: string;
  seed?: number;
  with_source: Trial[];
  without: Trial[];
}

export interface Graph {
  server: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Only the last proving call of each edge is kept, as in the file of a drawn world. */
  bare?: boolean;
}

/** A digest of everything in which two rollouts of one example can differ. */
export interface Fingerprint {
  tools: string;
  order: string;
  arguments: string;
  errors: string;
  outcome: string;
  ending: string;
  messages: string;
}

/** What a running server answers and a report holds. Rows are counted from 0 in the columns; `at` is the line in the file. */
export interface Store {
  frozen: boolean;
  sources(): Promise<Sources>;
  columns(source: number, generation: number, after: number): Promise<Batch>;
  search(source: number, words: string[]): Promise<number[]>;
  texts(source: number, rows: number[]): Promise<string[]>;
  fingerprints(source: number, rows: number[]): Promise<(Fingerprint | null)[]>;
  figures(source: number): Promise<Figures>;
  item(source: number, at: number): Promise<Item>;
  run(source: number, after: number): Promise<Run>;
  watched(source: number): Promise<Watched[]>;
  servers(): Promise<ServerCard[]>;
  server(name: string): Promise<Server>;
  /** The servers whose graph can be shown. */
  graphs(): Promise<string[]>;
  graph(server: string): Promise<Graph>;
  world(server: string, seed: number, session: string): Promise<World>;
  session(server: string, seed: number): Promise<{ session: string }>;
  call(session: string, tool: string, input: Fields): Promise<Called>;
  undo(session: string): Promise<Undone>;
  reset(session: string): Promise<Undone>;
}

/** What the pages ask for. */
export interface Data extends Omit<Store, "columns" | "search" | "texts" | "fingerprints" | "item"> {
  rows(source: number, query: Query, offset: number, limit: number): Promise<Rows>;
  facets(source: number, query: Query): Promise<Facets>;
  item(source: number, at: number, query: Query): Promise<Placed>;
  compare(left: number, right: number, sort: string, offset: number, limit: number): Promise<Comparison>;
  pair(left: number, leftAt: number, right: number, rightAt: number): Promise<Pair>;
  /** A pair of lines in which only the right one succeeds; without a left file, a line that succeeds. */
  showcase(left: number | null, right: number): Promise<Showcase | null>;
}
