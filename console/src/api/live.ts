// The page's one stream of events. Views say which topics they want; the stream is opened anew when that changes.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { connection, isAway, returns } from "./connection.ts";
import { readEvents } from "./events.ts";
import { RequestError } from "./requests.ts";
import type { Changes, Feeds, Heat, LiveRequest, Overview, Paths } from "./types.ts";

type Topic = LiveRequest["topics"][number];

export const overview = signal<Overview | undefined>(undefined);
export const paths = signal<Paths | undefined>(undefined);
export const heat = signal<Heat | undefined>(undefined);
export const feeds = signal<Feeds | undefined>(undefined);
/** What a topic says when it cannot be served now. */
export const problems = signal<Partial<Record<string, string>>>({});

const LONGEST_PAUSE = 15_000;
const HEAT_COLUMNS = 120;
const wanted = new Map<Topic, number>();
let tail: { table: string; onChanges: (changes: Changes) => void } | undefined;
let stream: AbortController | undefined;
let scheduled: ReturnType<typeof setTimeout> | undefined;
let started = false;

/** From when the server has accepted this page. The stream also shows at once that the server has gone. */
export function startLive(): void {
  if (started) return;
  started = true;
  effect(() => {
    if (returns.value >= 0 && connection.value === "up") reopen();
  });
  // A browser has six connections to a server, for all of its tabs: one that nobody sees gives its own back.
  document.addEventListener("visibilitychange", reopen);
  addEventListener("pageshow", reopen);
  addEventListener("pagehide", () => stream?.abort());
}

export function useTopic(topic: Topic): void {
  useEffect(() => {
    wanted.set(topic, (wanted.get(topic) ?? 0) + 1);
    reopen();
    return () => {
      const left = wanted.get(topic)! - 1;
      if (left > 0) wanted.set(topic, left);
      else wanted.delete(topic);
      reopen();
    };
  }, [topic]);
}

/** Tails the stream of a table, one at a time. */
export function useTail(table: string | undefined, onChanges: (changes: Changes) => void): void {
  useEffect(() => {
    if (table === undefined) return undefined;
    tail = { table, onChanges };
    reopen();
    return () => {
      tail = undefined;
      reopen();
    };
  }, [table]);
}

/** Soon, so that views that change places open one stream, not two. */
function reopen(): void {
  if (!started || scheduled !== undefined) return;
  scheduled = setTimeout(() => {
    scheduled = undefined;
    stream?.abort();
    if (document.hidden && !tail) return;
    stream = new AbortController();
    void follow(stream.signal);
  }, 0);
}

async function follow(signal: AbortSignal): Promise<void> {
  const asked: LiveRequest = { topics: [...wanted.keys()], ...(tail ? { changes: { table: tail.table } } : {}) };
  for (let pause = 1000; !signal.aborted; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
    try {
      await readEvents(
        "/console/api/live",
        asked,
        ({ name, data }) => {
          pause = 1000;
          receive(name, data);
        },
        signal,
      );
      if (!signal.aborted) isAway();
    } catch (error) {
      if (signal.aborted || !(error instanceof RequestError)) return;
      // When the server returns, the stream is opened by the effect above.
      if (error.code === "away" || error.status === 401 || error.status === 403) return;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function receive(name: string, data: unknown): void {
  if (name !== "problem" && problems.value[name] !== undefined) problems.value = { ...problems.value, [name]: undefined };
  switch (name) {
    case "overview":
      overview.value = data as Overview;
      break;
    case "paths":
      paths.value = data as Paths;
      break;
    case "feeds":
      feeds.value = data as Feeds;
      break;
    case "heat":
      heat.value = grown(heat.value, data as Heat);
      break;
    case "changes":
      tail?.onChanges(data as Changes);
      break;
    case "problem": {
      const { topic, message } = data as { topic: string; message: string };
      problems.value = { ...problems.value, [topic]: message };
      break;
    }
    case "bye":
      isAway();
      break;
  }
}

/** The columns that were there, and the new ones. */
function grown(before: Heat | undefined, news: Heat): Heat {
  if (!before) return news;
  const since = news.columns[0]?.at;
  const kept = since === undefined ? before.columns : before.columns.filter((each) => each.at < since);
  const columns = [...kept, ...news.columns].slice(-HEAT_COLUMNS);
  const named = new Map([...before.partitions, ...news.partitions].map((each) => [each.id, each]));
  const shown = new Set(columns.flatMap((each) => each.cells.map(([id]) => id)));
  for (const each of news.hottest) shown.add(each.id);
  return { ...news, columns, partitions: [...named.values()].filter((each) => shown.has(each.id)) };
}
