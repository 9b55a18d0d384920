// Deletes a selection: first what would happen, then the deed. Rows that have changed meanwhile are left alone.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { api, RequestError } from "../../api/requests.ts";
import type { Delete, Row, Table } from "../../api/types.ts";
import { count, dollars, plural, ratio } from "../../numbers.ts";
import { Dialog, Problem, Shown } from "../../shell/parts.tsx";
import { canonical, summary } from "../../values/attribute.ts";

const AT_ONCE = 1000;
/** Keys that are named. */
const NAMED = 8;

export function BulkDelete({ table, rows, onClose, onDone }: {
  table: Table;
  rows: Row[];
  onClose: () => void;
  onDone: (left: (row: Row) => boolean) => void;
}) {
  const whole = rows.filter((each) => each.seen !== null);
  const dry = useLoaded(() => remove(table, whole, true), [table.name, rows.length]);
  const [done, setDone] = useState<Delete>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<RequestError>();
  const act = () => {
    setBusy(true);
    remove(table, whole, false)
      .then(
        (outcome) => {
          setDone(outcome);
          const left = new Set([...outcome.changed, ...outcome.failed.map(({ key }) => key)].map((key) => canonical({ M: key })));
          onDone((row) => row.seen === null || left.has(canonical({ M: row.key })));
        },
        (raised: unknown) => {
          if (!(raised instanceof RequestError)) throw raised;
          setError(raised);
        },
      )
      .finally(() => setBusy(false));
  };
  return (
    <Dialog title={`Delete ${plural(rows.length, "row")} of ${table.name}`} onClose={onClose}>
      <div>
        {whole.length < rows.length && <p class="notice">{count(rows.length - whole.length)} rows come from an index that does not have all of them. Open those one by one.</p>}
        {done ? (
          <Outcome outcome={done} words={done.deleted === 1 ? "was deleted" : "were deleted"} />
        ) : (
          <Shown loaded={dry}>
            {(value) => (
              <>
                <p class="muted">Nothing has been deleted yet. This is what would happen:</p>
                <Outcome outcome={value} words="will be deleted" />
                <ul class="chips">
                  {whole.slice(0, NAMED).map(({ key }) => (
                    <li class="chip">{summary({ M: key }, 90)}</li>
                  ))}
                  {whole.length > NAMED && <li class="muted">and {count(whole.length - NAMED)} more</li>}
                </ul>
              </>
            )}
          </Shown>
        )}
        {error && <Problem error={error} />}
      </div>
      <div class="actions">
        {!done && (
          <button type="button" class="danger" disabled={busy || !dry.value || dry.value.deleted === 0} onClick={act}>
            {busy ? "Deleting…" : `Delete ${dry.value ? plural(dry.value.deleted, "row") : "rows"}`}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function Outcome({ outcome, words }: { outcome: Delete; words: string }) {
  const keys = (title: string, found: Delete["changed"]) =>
    found.length > 0 && (
      <p class="notice">
        {count(found.length)} {title}: {found.slice(0, 5).map((key) => summary({ M: key })).join("; ")}
        {found.length > 5 && " …"}
      </p>
    );
  return (
    <>
      <p>
        <strong>{count(outcome.deleted)}</strong> {outcome.deleted === 1 ? "row" : "rows"} {words}, for {ratio(outcome.units)} units, {dollars(outcome.dollars)}.
      </p>
      {keys("have changed since they were shown, and stay", outcome.changed)}
      {keys("are gone already", outcome.gone)}
      {outcome.failed.map(({ message }) => (
        <p class="problem">{message}</p>
      ))}
    </>
  );
}

/** In requests of up to a thousand rows. */
async function remove(table: Table, rows: Row[], dryRun: boolean): Promise<Delete> {
  const sum: Delete = { done: !dryRun, deleted: 0, changed: [], gone: [], failed: [], units: 0, dollars: 0 };
  for (let start = 0; start < rows.length; start += AT_ONCE) {
    const part = rows.slice(start, start + AT_ONCE).map(({ key, seen }) => ({ key, seen }));
    const answer = await api<Delete>("delete", { table: table.name, rows: part, dryRun });
    sum.deleted += answer.deleted;
    sum.units += answer.units;
    sum.dollars += answer.dollars;
    sum.changed.push(...answer.changed);
    sum.gone.push(...answer.gone);
    sum.failed.push(...answer.failed);
  }
  return sum;
}
