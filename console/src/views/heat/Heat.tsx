// Which partitions are hot, and how near to DynamoDB's limits: drawn over time, and the hottest as a table.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { heat, problems, useTopic } from "../../api/live.ts";
import type { Heat as Now } from "../../api/types.ts";
import { count, percent, ratio } from "../../numbers.ts";
import { Empty, OneProcess, Page, Panel, Sign, Table } from "../../shell/parts.tsx";
import { isDark } from "../../shell/theme.ts";
import { clock } from "../../times.ts";
import { visible } from "../../values/attribute.ts";

const ROW = 20;
const LABELS = 230;
const ROWS = 24;
/** So few columns fill a part of the width. */
const LEAST_COLUMNS = 40;
/** Shares of a limit at which the colour steps; the last is the limit itself. */
const STEPS = [0.001, 0.01, 0.05, 0.2, 0.5, 1];

interface Line {
  id: number;
  name: string;
  /** The greater share of the two limits, for each column. */
  shares: number[];
  most: number;
}

export function Heat() {
  useTopic("heat");
  const now = heat.value;
  const hottest = now?.hottest[0];
  const name = (id: number) => nameOf(now!, id);
  return (
    <Page
      title="Heat"
      hint={
        now && (
          <>
            DynamoDB serves {count(now.limits.readUnits)} read units and {count(now.limits.writeUnits)} write units a second from one partition
            key, and throttles what exceeds that.
          </>
        )
      }
    >
      <OneProcess />
      {problems.value.heat && <p class="notice">{problems.value.heat}</p>}
      {!now ? (
        <p class="loading">Loading…</p>
      ) : now.partitions.length === 0 ? (
        <Empty>No requests lately. Partitions appear here as they are read and written.</Empty>
      ) : (
        <>
          {hottest && (
            <p class="lead">
              The hottest partition is <strong class="wrap">{name(hottest.id)}</strong> with {ratio(hottest.requestsPerSecond)} requests,{" "}
              {ratio(hottest.readUnitsPerSecond)} read and {ratio(hottest.writeUnitsPerSecond)} write units a second:{" "}
              {percent(Math.max(hottest.readShare, hottest.writeShare))} of a limit.
            </p>
          )}
          <Panel title="Partitions by time">
            <HeatMap now={now} />
          </Panel>
          <Panel title="Hottest partitions" tools={<span class="muted">the last one to two minutes</span>}>
            {now.hottest.length === 0 ? (
              <Empty>No requests in the last minutes.</Empty>
            ) : (
            <Table
              label="Hottest partitions"
              heads={[
                { title: "Partition" },
                { title: "Requests/s", align: "right" },
                { title: "Read units/s", align: "right" },
                { title: `of ${count(now.limits.readUnits)}`, align: "right", hint: "The share of what DynamoDB serves from one partition key" },
                { title: "Write units/s", align: "right" },
                { title: `of ${count(now.limits.writeUnits)}`, align: "right", hint: "The share of what DynamoDB serves from one partition key" },
              ]}
            >
              {now.hottest.map((each) => (
                <tr>
                  <td>
                    {each.over && <Sign tone="bad" />} <span class="wrap">{name(each.id)}</span>
                    {each.advice && <span class="sub">{each.advice}</span>}
                  </td>
                  <td class="right">{ratio(each.requestsPerSecond)}</td>
                  <td class="right">{ratio(each.readUnitsPerSecond)}</td>
                  <td class="right">
                    <Share share={each.readShare} />
                  </td>
                  <td class="right">{ratio(each.writeUnitsPerSecond)}</td>
                  <td class="right">
                    <Share share={each.writeShare} />
                  </td>
                </tr>
              ))}
            </Table>
            )}
          </Panel>
        </>
      )}
    </Page>
  );
}

function Share({ share }: { share: number }) {
  return (
    <>
      <span class={`track ${share > 1 ? "over" : ""}`} aria-hidden="true">
        <span style={{ width: `${Math.min(100, share * 100)}%` }} />
      </span>{" "}
      <span class="share">{percent(share)}</span>
    </>
  );
}

function nameOf(now: Now, id: number): string {
  const found = now.partitions.find((each) => each.id === id);
  if (!found) return `partition ${id}`;
  return visible(`${found.table}${found.index ? `.${found.index}` : ""} ${found.key}`);
}

function linesOf(now: Now): Line[] {
  const places = new Map<number, Line>();
  now.columns.forEach((column, index) => {
    for (const [id, reads, writes] of column.cells) {
      let line = places.get(id);
      if (!line) {
        line = { id, name: nameOf(now, id), shares: now.columns.map(() => 0), most: 0 };
        places.set(id, line);
      }
      const share = Math.max(reads / now.limits.readUnits, writes / now.limits.writeUnits);
      line.shares[index] = share;
      line.most = Math.max(line.most, share);
    }
  });
  return [...places.values()].sort((left, right) => right.most - left.most).slice(0, ROWS);
}

function HeatMap({ now }: { now: Now }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [read, setRead] = useState("");
  const lines = linesOf(now);
  const labels = Math.min(LABELS, width * 0.4);
  const column = (width - labels) / Math.max(LEAST_COLUMNS, now.columns.length);
  const left = width - column * now.columns.length;

  useLayoutEffect(() => {
    const shown = canvas.current!;
    const observer = new ResizeObserver(() => setWidth(shown.clientWidth));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, width, labels, lines, now);
  }, [now, width, isDark.value]);
  const point = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const line = lines[Math.floor((event.clientY - box.top) / ROW)];
    const index = Math.floor((event.clientX - box.left - left) / column);
    const at = now.columns[index];
    const cell = line && at?.cells.find(([id]) => id === line.id);
    setRead(
      !line || !at
        ? ""
        : cell
          ? `${line.name} at ${clock(new Date(at.at))}: ${ratio(cell[3])} requests/s, ${ratio(cell[1])} read and ${ratio(cell[2])} write units/s, ${percent(line.shares[index]!)} of a limit`
          : `${line.name} at ${clock(new Date(at.at))}: nothing`,
    );
  };
  return (
    <div>
      <canvas
        ref={canvas}
        class="heatmap"
        role="img"
        aria-label={`Heat map of ${lines.length} partitions over ${now.columns.length} intervals; the table below has the hottest`}
        onMouseMove={point}
        onMouseLeave={() => setRead("")}
      />
      <p class="heat-read wrap">{read || "Each line is a partition, each box an interval; its height and colour are the share of a limit. Point at one."}</p>
    </div>
  );
}

/** Height tells the share as well as colour; a box over the limit has a frame. */
function draw(canvas: HTMLCanvasElement, width: number, labels: number, lines: Line[], now: Now): void {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const height = lines.length * ROW + 18;
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  pen.clearRect(0, 0, width, height);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const column = (width - labels) / Math.max(LEAST_COLUMNS, now.columns.length);
  const left = width - column * now.columns.length;
  lines.forEach((line, row) => {
    const y = row * ROW;
    pen.fillStyle = colour("--text");
    pen.fillText(fitted(pen, line.name, labels - 12), 0, y + ROW / 2);
    pen.fillStyle = colour("--raised");
    pen.fillRect(labels, y + 2, width - labels, ROW - 4);
    line.shares.forEach((share, index) => {
      if (share <= 0) return;
      const step = STEPS.findIndex((each) => share < each);
      const level = (step === -1 ? STEPS.length : step) + 1;
      const box = ((ROW - 4) * level) / (STEPS.length + 1);
      pen.globalAlpha = 0.3 + (0.7 * level) / (STEPS.length + 1);
      pen.fillStyle = colour(share >= 1 ? "--bad" : share >= 0.5 ? "--warn" : "--accent");
      pen.fillRect(left + index * column, y + 2 + (ROW - 4 - box), Math.max(1, column - 1), box);
      pen.globalAlpha = 1;
      if (share >= 1) {
        pen.strokeStyle = colour("--bad");
        pen.strokeRect(left + index * column + 0.5, y + 2.5, Math.max(1, column - 2), ROW - 5);
      }
    });
    // The limit: the upper edge of the line.
    pen.fillStyle = colour("--line-strong");
    pen.fillRect(labels, y + 1, width - labels, 1);
  });
  pen.fillStyle = colour("--muted");
  const [first, last] = [now.columns[0]!, now.columns[now.columns.length - 1]!];
  pen.fillText(clock(new Date(Date.parse(first.at) - first.seconds * 1000)), Math.min(left, width - 130), height - 8);
  pen.textAlign = "right";
  pen.fillText(clock(new Date(last.at)), width, height - 8);
  pen.textAlign = "left";
}

function fitted(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}
