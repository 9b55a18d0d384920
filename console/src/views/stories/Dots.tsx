// What was read as dots, in the order in which it is stored; what was asked for stands out.
import { useEffect, useRef, useState } from "preact/hooks";
import { isDark } from "../../shell/theme.ts";

const GAP = 1;

export function Dots({ read, asked, label }: { read: number; asked: readonly number[]; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const shown = canvas.current!;
    const observer = new ResizeObserver(() => setWidth(shown.clientWidth));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, width, read, asked);
  }, [width, read, asked, isDark.value]);
  return <canvas ref={canvas} role="img" aria-label={label} />;
}

function draw(canvas: HTMLCanvasElement, width: number, read: number, asked: readonly number[]): void {
  const size = read > 2000 ? 1 : 7;
  const columns = Math.max(1, Math.floor(width / (size + GAP)));
  const height = Math.max(8, Math.ceil(read / columns) * (size + GAP));
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.height = `${height}px`;
  const style = getComputedStyle(document.documentElement);
  const [accent, rest] = [style.getPropertyValue("--accent"), style.getPropertyValue("--line-strong")];
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  const fill = (colour: string, place: number, grown: number) => {
    pen.fillStyle = colour;
    pen.fillRect((place % columns) * (size + GAP) - grown, Math.floor(place / columns) * (size + GAP) - grown, size + 2 * grown, size + 2 * grown);
  };
  for (let place = 0; place < read; place += 1) fill(rest, place, 0);
  for (const place of asked) fill(accent, place, size === 1 ? 2 : 0);
}
