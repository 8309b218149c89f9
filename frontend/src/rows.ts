/** The rows of a virtual list, fetched page by page as they scroll into view. */

import { useEffect, useRef, useState } from "preact/hooks";
import { sentence, useTicks } from "./ask";
import { data, type Query, type Row } from "./data";

const PAGE = 100;
const GROWING = 300;

export interface Listed {
  total: number;
  of: number;
  took: number;
  done: boolean;
  ready: boolean;
  error: string;
  row: (index: number) => Row | undefined;
  seen: (first: number, last: number) => void;
}

interface Kept {
  total: number;
  of: number;
  took: number;
  done: boolean;
  ready: boolean;
  error: string;
  pages: Map<number, Row[]>;
}

const EMPTY: Kept = { total: 0, of: 0, took: 0, done: true, ready: false, error: "", pages: new Map() };

export function useRows(source: number, query: Query, version: string): Listed {
  const key = JSON.stringify([source, query]);
  const [kept, setKept] = useState<Kept>(EMPTY);
  const asked = useRef<{ key: string; pages: Set<number> }>({ key: "", pages: new Set() });
  const sight = useRef<[number, number]>([0, PAGE]);

  const fetchPage = async (page: number, fresh: boolean): Promise<void> => {
    const mine = asked.current;
    mine.pages.add(page);
    try {
      const answer = await data.rows(source, query, page * PAGE, PAGE);
      if (asked.current !== mine) return;
      setKept((last) => ({
        total: answer.total, of: answer.of, took: answer.took_ms, done: answer.done, ready: true, error: "",
        pages: new Map(fresh ? [] : last.pages).set(page, answer.rows),
      }));
    } catch (problem) {
      if (asked.current !== mine) return;
      mine.pages.delete(page);
      setKept((last) => ({ ...last, ready: true, error: sentence(problem) }));
    }
  };

  useEffect(() => {
    asked.current = { key, pages: new Set() };
    void fetchPage(0, true);
  }, [key]);

  const refresh = async (): Promise<void> => {
    const [first, last] = sight.current;
    const pages = new Set([Math.floor(first / PAGE), Math.floor(Math.max(first, last - 1) / PAGE)]);
    for (const page of pages) await fetchPage(page, false);
  };
  useTicks(kept.ready && !kept.done && !kept.error ? GROWING : null, refresh);
  useEffect(() => {
    if (!kept.ready) return;
    asked.current.pages.clear();
    void refresh();
  }, [version]);

  return {
    ...kept,
    row: (index) => kept.pages.get(Math.floor(index / PAGE))?.[index % PAGE],
    seen: (first, last) => {
      sight.current = [first, last];
      if (asked.current.key !== key || !kept.ready) return;
      for (let page = Math.floor(first / PAGE); page * PAGE < Math.min(last, kept.total); page++) {
        if (!asked.current.pages.has(page)) void fetchPage(page, false);
      }
    },
  };
}
