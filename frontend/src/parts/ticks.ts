/** Ranges and ticks of a chart's axes: whole steps, every label once, room around few points. */

/** A run of at most so many steps is short: each step has a tick and a visible point. */
export const FEW = 10;
/** The width of a digit in pixels, with some room. */
const LETTER = 7;
/** Labels with as many digits after the point are written with an exponent. */
const MOST_DIGITS = 5;
/** The distances between ticks that a longer run may have: 1, 2, 5, 10, … */
export const WHOLE = Array.from({ length: 8 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

/** The range of the axis of steps; few points get room at both sides. */
export function stepRange(steps: number[], low: number, high: number): [number, number] {
  if (steps.length > FEW) return [low, high];
  const room = high > low ? (high - low) * 0.04 : 1;
  return [low - room, high + room];
}

/** The ticks of a short run: its steps, or every second, third … of them where there is no room for all. */
export function stepTicks(steps: number[], width: number): number[] {
  const label = LETTER * (1 + String(steps.at(-1) ?? 0).length);
  const every = Math.max(1, Math.ceil((steps.length * label) / Math.max(label, width)));
  return steps.filter((_, at) => at % every === 0);
}

/** The range of values: from 0 where they come near it; where all are equal, some room above and below. */
export function valueRange(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  if (high - low > Math.abs(high) * 1e-9) {
    const room = (high - low) * 0.1;
    return [low >= 0 && low < high / 2 ? 0 : low - room, high + room];
  }
  const room = Math.abs(high) * 0.25 || 0.5;
  return [low - room, high + room];
}

/** As many digits after the point as the distance between ticks needs: 2 for 0.25. */
function digitsOf(gap: number): number {
  for (let digits = 0; digits < MOST_DIGITS; digits++) {
    const scaled = gap * 10 ** digits;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return digits;
  }
  return MOST_DIGITS;
}

/** The labels of ticks, with as many digits as keep them apart. */
export function tickLabels(ticks: number[]): string[] {
  const gap = ticks.length > 1 ? Math.abs(ticks[1]! - ticks[0]!) : 1;
  const digits = digitsOf(gap);
  const plain = (tick: number): number => (Math.abs(tick) < gap / 2 ? 0 : tick);
  if (digits < MOST_DIGITS) {
    return ticks.map((tick) => plain(tick).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return ticks.map((tick) => (plain(tick) ? Number(tick.toPrecision(6)).toExponential() : "0"));
}
