/** Line charts of metrics over steps (uPlot), with one cursor for all. */

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { useThemeChange } from "../theme";
import { figure } from "./marks";
import { FEW, stepRange, stepTicks, tickLabels, valueRange, WHOLE } from "./ticks";

export interface Line {
  name: string;
  values: (number | null)[];
  /** How far the band around it reaches, to both sides. */
  spread?: (number | null)[];
  /** Another run's: dashed, and in this one of the colours. */
  beside?: number;
}

const HEIGHT = 158;
const COLOURS = ["--s0", "--s1", "--s2", "--s3", "--s4", "--s5", "--s6", "--s7"];
const shade = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Few points are drawn as dots, since a line between them is short or missing. */
const dots = (stroke: string): uPlot.Series.Points => ({ show: (plot) => plot.data[0].length <= FEW, size: 6, fill: stroke, stroke });

/** The axis of steps: each step of a short run, whole numbers of a longer one. */
function stepAxis(): uPlot.Axis {
  return {
    size: 26, incrs: WHOLE,
    splits: (plot, _, low, high, gap) => {
      const steps = plot.data[0] as number[];
      if (steps.length <= FEW) return stepTicks(steps, plot.bbox.width / devicePixelRatio).filter((step) => step >= low && step <= high);
      const ticks = [];
      for (let step = Math.ceil(low / gap) * gap; step <= high; step += gap) ticks.push(step);
      return ticks;
    },
    values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")),
  };
}

function options(width: number, lines: Line[], moved: (at: number | null) => void): uPlot.Options {
  const axis = { stroke: shade("--muted"), grid: { stroke: shade("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  lines.forEach((line, at) => {
    const stroke = shade(COLOURS[(line.beside ?? at) % COLOURS.length]!);
    series.push({ stroke, width: 1.5, spanGaps: true, points: dots(stroke), ...(line.beside === undefined ? {} : { dash: [4, 3] }) });
    if (!line.spread) return;
    const edge: uPlot.Series = { stroke: "transparent", spanGaps: true, points: { show: false } };
    series.push(edge, { ...edge });
    bands.push({ series: [series.length - 2, series.length - 1], fill: `${stroke}26` });
  });
  return {
    width, height: HEIGHT, series, bands, padding: [6, 10, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: (plot, low, high) => stepRange(plot.data[0] as number[], low, high) },
      y: { range: (_, low, high) => valueRange(low, high) },
    },
    axes: [{ ...axis, ...stepAxis() }, { ...axis, size: 44, values: (_, ticks) => tickLabels(ticks) }],
    cursor: { sync: { key: "run" }, points: { size: 5 }, drag: { x: true, y: false } },
    hooks: { setCursor: [(plot) => moved(plot.cursor.idx ?? null)] },
  };
}

function columns(steps: number[], lines: Line[]): uPlot.AlignedData {
  const out: (number | null)[][] = [];
  for (const { values, spread } of lines) {
    out.push(values);
    if (!spread) continue;
    const side = (sign: number) => values.map((value, at) => (value === null ? null : value + sign * (spread[at] ?? 0)));
    out.push(side(1), side(-1));
  }
  return [steps, ...out];
}

export function Curve({ title, steps, lines, wide }: { title: string; steps: number[]; lines: Line[]; wide?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = useThemeChange();
  const [at, setAt] = useState<number | null>(null);
  const names = lines.map((line) => line.name + (line.spread ? "±" : "")).join();
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(options(element.clientWidth || 300, lines, setAt), columns(steps, lines), element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [names, theme]);
  useEffect(() => plot.current?.setData(columns(steps, lines)), [steps, lines]);
  const last = lines[0] ? lines[0].values.findLastIndex((value) => value !== null) : -1;
  const shown = at ?? last;
  return (
    <figure class={`curve ${wide ? "wide" : ""}`} data-points={steps.length} data-lines={lines.length} aria-label={`${title} over ${steps.length} steps`}>
      <figcaption>
        <b>{title}</b><span class="aside">{at === null ? "" : `step ${steps[shown] ?? "–"}`}</span>
        <span class="keys">
          {lines.filter((line) => line.beside === undefined || lines.length < 3).map((line, number) => (
            <span key={line.name} class={`key s${(line.beside ?? number) % COLOURS.length}`}>
              <i />{lines.length > 1 ? `${line.name} ` : ""}<span class="figure">{compact(line.values[shown], line.values)}</span>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} />
    </figure>
  );
}

/** A number in few characters; a value that is tiny compared with its curve is written as 0. */
function compact(value: number | null | undefined, among: (number | null)[]): string {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const largest = among.reduce<number>((most, one) => Math.max(most, Math.abs(one ?? 0)), 0);
  if (size < largest / 1000) return "0.00";
  if (size >= 10000) return Math.round(value).toLocaleString("en");
  if (size >= 100) return value.toFixed(0);
  if (size && size < 0.01) return value.toExponential(1);
  return figure(value, size >= 10 ? 1 : 2);
}
