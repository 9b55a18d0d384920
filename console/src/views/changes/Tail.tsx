// The live tail of a table's stream: each change as it comes, with the old and the new side by side.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { problems, useTail } from "../../api/live.ts";
import { useLoaded } from "../../api/loaded.ts";
import { api } from "../../api/requests.ts";
import type { Changes, Tables } from "../../api/types.ts";
import { count } from "../../numbers.ts";
import { Empty, Panel, Shown } from "../../shell/parts.tsx";
import { clock } from "../../times.ts";
import { clipped, summary } from "../../values/attribute.ts";
import { differences } from "../../values/diff.ts";
import { DiffView } from "../../values/DiffView.tsx";
import { ItemValue } from "../../values/Value.tsx";

type Change = Changes["events"][number];
const MOST = 200;
/** Tables get streams while one watches. */
const EVERY = 5000;
const WORDS = { INSERT: ["+", "new"], MODIFY: ["±", "changed"], REMOVE: ["−", "gone"] } as const;

const followed = signal("");
const kept = signal<{ events: Change[]; skipped: number; seen: number }>({ events: [], skipped: 0, seen: 0 });

export function Tail() {
  const tables = useLoaded(() => api<Tables>("tables"), [], EVERY);
  return (
    <Shown loaded={tables}>
      {(value) => {
        const streamed = value.tables.filter(({ stream }) => stream !== null);
        if (streamed.length === 0) {
          return <Empty>No table has a stream. Declare one, as in sk.Table("orders", stream="NEW_AND_OLD_IMAGES"), or enable it by UpdateTable; its changes appear here.</Empty>;
        }
        const table = streamed.find(({ name }) => name === followed.value) ?? streamed.find(({ service }) => service !== "sortkey" && service !== null) ?? streamed[0]!;
        return <Following table={table.name} tables={streamed.map(({ name }) => name)} />;
      }}
    </Shown>
  );
}

function Following({ table, tables }: { table: string; tables: string[] }) {
  const [paused, setPaused] = useState(false);
  const stopped = useRef(false);
  stopped.current = paused;
  const [begun, setBegun] = useState(false);
  useEffect(() => () => setBegun(false), [table]);
  useTail(table, (changes) => {
    setBegun(true);
    if (stopped.current || changes.table !== followedNow(table)) return;
    const { events, skipped, seen } = kept.value;
    const known = new Set(events.map(({ id }) => id));
    const fresh = changes.events.filter(({ id }) => !known.has(id)).reverse();
    kept.value = { events: [...fresh, ...events].slice(0, MOST), skipped: skipped + changes.skipped, seen: seen + fresh.length };
  });
  const { events, skipped, seen } = kept.value;
  return (
    <Panel
      title={
        <>
          {count(seen)} changes <span class="muted">{skipped > 0 && `and ${count(skipped)} that came too fast to show`}</span>
        </>
      }
      tools={
        <>
          <select
            aria-label="Table"
            value={table}
            onChange={(event) => {
              followed.value = event.currentTarget.value;
              kept.value = { events: [], skipped: 0, seen: 0 };
            }}
          >
            {tables.map((each) => (
              <option>{each}</option>
            ))}
          </select>
          <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
            {paused ? "Go on" : "Pause"}
          </button>
          <button type="button" onClick={() => (kept.value = { events: [], skipped: 0, seen: 0 })}>
            Clear
          </button>
        </>
      }
    >
      {problems.value.changes && <p class="notice">{problems.value.changes}</p>}
      {events.length === 0 ? (
        <Empty>{begun ? `Waiting for a change of ${table}. It appears here as soon as it is committed.` : `Looking for the end of the stream of ${table}.`}</Empty>
      ) : (
        <ul class="changes-list" aria-label={`Changes of ${table}, newest first`} tabIndex={0}>
          {events.map((each) => (
            <ChangeLine key={each.id} change={each} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function followedNow(table: string): string {
  return followed.value || table;
}

function ChangeLine({ change }: { change: Change }) {
  const [open, setOpen] = useState(false);
  const [mark, word] = WORDS[change.event];
  return (
    <li class="change lit">
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="mono muted">{clock(new Date(change.at))}</span>
        <span class="kind">
          <span aria-hidden="true">{mark}</span> {change.expired ? "expired" : word}
        </span>
        <span>{change.class}</span>
        <code class="wrap">{summary({ M: change.key }, 90)}</code>
        {change.changed.length > 0 && change.event === "MODIFY" && <span class="muted wrap">{clipped(change.changed.join(", "), 120)}</span>}
      </button>
      {open && <Sides change={change} />}
    </li>
  );
}

function Sides({ change }: { change: Change }) {
  if (change.tooLarge) return <p class="muted">Its images are too large to be shown here; the row is under Data.</p>;
  if (!change.old && !change.new) return <p class="muted">This stream has keys alone.</p>;
  return (
    <div>
      {change.old && change.new && <DiffView differences={differences(change.old, change.new)} empty="Nothing that is stored differs." />}
      <div class="sides">
        {(["old", "new"] as const).map((side) => {
          const fields = side === "old" ? change.oldFields : change.newFields;
          const item = change[side];
          return (
            <section aria-label={side === "old" ? "Before" : "After"}>
              <h3>{side === "old" ? "Before" : "After"}</h3>
              {fields ? <Fields fields={fields} /> : item ? <ItemValue item={item} keys={Object.keys(change.key)} /> : <p class="muted">no row</p>}
            </section>
          );
        })}
      </div>
      <p class="muted mono wrap">
        shard {change.shard}, sequence {change.sequence}
      </p>
    </div>
  );
}

function Fields({ fields }: { fields: Record<string, string> }) {
  return (
    <dl class="item">
      {Object.entries(fields).map(([name, text]) => (
        <div class="entry">
          <dt>
            <span class="name">{name}</span>
          </dt>
          <dd>
            <code class="plain">{clipped(text, 400)}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}
