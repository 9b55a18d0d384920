// Rows as dots: those that were read, and among them those that were asked for.
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../../shell/theme.ts";

const GAP = 1;

export function Dots({ read, wanted, label }: { read: number; wanted: number; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const shown = canvas.current!;
    const observer = new ResizeObserver(() => setWidth(shown.clientWidth));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, width, read, wanted);
  }, [width, read, wanted, theme.value]);
  return <canvas ref={canvas} role="img" aria-label={label} />;
}

function draw(canvas: HTMLCanvasElement, width: number, read: number, wanted: number): void {
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
  const every = Math.max(1, Math.floor(read / Math.max(1, wanted)));
  for (let place = 0; place < read; place += 1) {
    const lit = place % every === 0 && place / every < wanted;
    const grown = lit && size === 1 ? 1 : 0;
    pen.fillStyle = lit ? accent : rest;
    pen.fillRect((place % columns) * (size + GAP) - grown, Math.floor(place / columns) * (size + GAP) - grown, size + 2 * grown, size + 2 * grown);
  }
}
