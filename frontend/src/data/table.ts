/** The rows of one source as columns. Values that repeat are stored once (dictionary encoding). */

import type { Verdict } from "./types";

/** Some rows of a column: the values that no row before them has, and a code per row. */
export interface CodedValues<T> {
  values: T[];
  codes: number[];
}

/** Some rows of a source, as the server sends them and a report holds them. */
export interface Columns {
  at: number[];
  id: CodedValues<string>;
  server: CodedValues<string>;
  kind: CodedValues<string>;
  policy: CodedValues<string>;
  ending: CodedValues<string>;
  knob: CodedValues<string[]>;
  error: CodedValues<string[]>;
  verdict: CodedValues<Verdict | null>;
  reward: CodedValues<number | null>;
  calls: CodedValues<number>;
}

/** Rows that follow those the page has; a batch that begins at row 0 replaces them. */
export interface Batch {
  kind: string;
  generation: number;
  first: number;
  total: number;
  done: boolean;
  columns: Columns;
}

export class Column<T> {
  readonly values: T[] = [];
  readonly codes: number[] = [];

  append({ values, codes }: CodedValues<T>): void {
    for (const value of values) this.values.push(value);
    for (const code of codes) this.codes.push(code);
  }

  get(row: number): T {
    return this.values[this.codes[row]!]!;
  }
}

export class Table {
  readonly at: number[] = [];
  readonly id = new Column<string>();
  readonly server = new Column<string>();
  readonly kind = new Column<string>();
  readonly policy = new Column<string>();
  readonly ending = new Column<string>();
  readonly knob = new Column<string[]>();
  readonly error = new Column<string[]>();
  readonly verdict = new Column<Verdict | null>();
  readonly reward = new Column<number | null>();
  readonly calls = new Column<number>();
  done = false;

  constructor(readonly holds = "", readonly generation = 0) {}

  get count(): number {
    return this.at.length;
  }

  append(more: Columns): void {
    for (const at of more.at) this.at.push(at);
    this.id.append(more.id);
    this.server.append(more.server);
    this.kind.append(more.kind);
    this.policy.append(more.policy);
    this.ending.append(more.ending);
    this.knob.append(more.knob);
    this.error.append(more.error);
    this.verdict.append(more.verdict);
    this.reward.append(more.reward);
    this.calls.append(more.calls);
  }
}
