// Axes: from values to points, and round numbers along them.

export class Scale {
  constructor(
    readonly from: number,
    readonly to: number,
    readonly start: number,
    readonly end: number,
    readonly log = false,
  ) {}

  at(value: number): number {
    const { from, to, start, end } = this;
    const part = this.log
      ? (Math.log10(Math.max(value, from)) - Math.log10(from)) / (Math.log10(to) - Math.log10(from))
      : (value - from) / (to - from);
    return start + part * (end - start);
  }

  value(point: number): number {
    const part = (point - this.start) / (this.end - this.start);
    return this.log
      ? 10 ** (Math.log10(this.from) + part * (Math.log10(this.to) - Math.log10(this.from)))
      : this.from + part * (this.to - this.from);
  }

  ticks(count = 6): number[] {
    const { from, to } = this;
    if (!(to > from) || !Number.isFinite(to - from)) return [];
    if (this.log) {
      const found: number[] = [];
      const first = Math.floor(Math.log10(from));
      const last = Math.ceil(Math.log10(to));
      const every = Math.max(1, Math.ceil((last - first) / 8));
      for (let power = first; power <= last; power += every) {
        for (const digit of last - first <= 2 ? [1, 2, 5] : [1]) {
          const value = digit * 10 ** power;
          if (value >= from && value <= to) found.push(value);
        }
      }
      if (found.length > 0) return found;
    }
    const rough = (to - from) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = ([1, 2, 5, 10].find((digit) => digit * power >= rough) ?? 10) * power;
    const found: number[] = [];
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9 && found.length < 20; n += 1) {
      found.push(n * step);
    }
    return found;
  }
}

/** A number with as many digits as are looked at. */
export function short(value: number, digits = 6): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  const text = value.toPrecision(digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : String(Number(text));
}

/** Colours of branches: steps of the golden angle around the wheel, in turn dark and light, as `sapwood layout` has. */
export function colour(rank: number): string {
  const hue = (rank * 137.507764) % 360;
  const light = [45, 62, 35][rank % 3];
  return `hsl(${hue.toFixed(1)} 65% ${light}%)`;
}

/** The shade of a cell by its share of the largest, for light and dark pages. */
export function shade(share: number, dark: boolean, hue = 213): string {
  const light = dark ? 22 + 58 * share : 92 - 62 * share;
  return `hsl(${hue} 60% ${light.toFixed(1)}%)`;
}
