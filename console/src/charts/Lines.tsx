// Lines over time, by uPlot. Colours follow the theme; a dash tells the lines apart without colour.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { isDark } from "../shell/theme.ts";
import { clock } from "../times.ts";

export interface Line {
  name: string;
  values: (number | null)[];
}

const HEIGHT = 170;
const DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 4], [12, 4]];
const LIGHT = ["#1d58ad", "#a15c00", "#1e6e42", "#8b2fa8", "#b3261e", "#4a5560", "#00707f"];
const DARK = ["#86b4ff", "#e6b45c", "#6ecb95", "#d59bea", "#ff9189", "#b4bcc4", "#5fd0de"];

/** Without a pointer, the legend has the newest values. */
function showLast(plot: uPlot | undefined): void {
  if (plot && plot.cursor.idx == null) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

/** The values without a neighbour: no line shows them. */
function alone(plot: uPlot, series: number): number[] {
  const values = plot.data[series]!;
  return [...values.keys()].filter((each) => values[each] != null && values[each - 1] == null && values[each + 1] == null);
}

/** With seconds where minutes would repeat. */
function times(ticks: number[]): string[] {
  const fine = ticks.length > 1 && ticks[1]! - ticks[0]! < 60;
  return ticks.map((each) => clock(new Date(each * 1000)).slice(-8, fine ? undefined : -3));
}

export function Lines({ label, seconds, lines, format }: {
  label: string;
  /** Unix seconds, one for each value. */
  seconds: number[];
  lines: Line[];
  format: (value: number) => string;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const names = lines.map((each) => each.name).join("\0");
  const data = [seconds, ...lines.map((each) => each.values)] as uPlot.AlignedData;

  useLayoutEffect(() => {
    const holder = place.current!;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const palette = isDark.value ? DARK : LIGHT;
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const font = `11px ${style.fontFamily || "sans-serif"}`;
    const made = new uPlot(
      {
        width: holder.clientWidth,
        height: HEIGHT,
        padding: [8, 12, 0, 0],
        cursor: { points: { size: 6 }, drag: { x: false, y: false } },
        legend: { show: lines.length > 1 },
        axes: [
          { ...axis, font, size: 28, grid: { show: false }, values: (_, ticks) => times(ticks) },
          { ...axis, font, size: 58, values: (_, ticks) => ticks.map(format) },
        ],
        scales: { y: { range: (_, __, most) => [0, most ? most * 1.1 : 1] } },
        hooks: { setCursor: [showLast] },
        series: [
          { label: "At", value: (_, value) => (value ? clock(new Date(value * 1000)) : "–") },
          ...lines.map((each, index) => ({
            label: each.name,
            stroke: palette[index % palette.length]!,
            width: 1.5,
            dash: DASHES[index % DASHES.length]!,
            points: { size: 4, filter: alone },
            value: (_: uPlot, value: number | null) => (value === null ? "–" : format(value)),
          })),
        ],
      },
      data,
      holder,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => requestAnimationFrame(() => made.setSize({ width: holder.clientWidth, height: HEIGHT })));
    observer.observe(holder);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [names, isDark.value]);
  useEffect(() => {
    plot.current?.setData(data);
    showLast(plot.current);
  }, [data]);

  return <div class="chart" role="img" aria-label={label} ref={place} />;
}
