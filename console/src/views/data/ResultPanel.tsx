// The rows that came, what they cost, and what can be done with them.
import { useMemo, useRef, useState } from "preact/hooks";
import { RequestError } from "../../api/requests.ts";
import type { Cursor, DeclaredClass, Row } from "../../api/types.ts";
import { count, dollars, ratio } from "../../numbers.ts";
import { Empty, Panel, Problem } from "../../shell/parts.tsx";
import { seconds } from "../../times.ts";
import { Grid } from "../../table/Grid.tsx";
import { BulkDelete } from "./BulkDelete.tsx";
import { grown, result } from "./chosen.ts";
import { CodeDialog } from "./CodeDialog.tsx";
import { columnsOf, type Mode } from "./columns.tsx";
import { csv, download, jsonLines } from "./export.ts";
import { RowDialog } from "./RowDialog.tsx";

const MOST_ROWS = 200_000;
const NONE: ReadonlySet<number> = new Set();

export function ResultPanel({ classes }: { classes: DeclaredClass[] }) {
  const shown = result.value;
  const [wanted, setMode] = useState<Mode>("typed");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<RequestError>();
  const [selection, setSelection] = useState<{ of: object; rows: ReadonlySet<number> }>();
  const [open, setOpen] = useState<"code" | "delete" | "new" | number>();
  const stopped = useRef(false);
  const typed = shown?.rows.some((each) => each.class !== null) ?? false;
  const mode = wanted === "typed" && !typed ? "stored" : wanted;
  const columns = useMemo(() => (shown ? columnsOf(mode, shown.rows, shown.of, classes) : []), [mode, shown?.rows, classes]);
  if (!shown) return null;
  const { of: table, rows } = shown;
  // Of another request's rows, nothing is selected here.
  const selected = selection?.of === shown.request ? selection.rows : NONE;
  const setSelected = (chosen: ReadonlySet<number>) => setSelection({ of: shown.request, rows: chosen });

  const more = async (pages: number) => {
    setBusy(true);
    stopped.current = false;
    try {
      for (let page = 0; page < pages && !stopped.current; page += 1) {
        const before = result.value;
        if (!before || before.next === null || before.rows.length >= MOST_ROWS) break;
        const came = await before.more(before.next as Cursor);
        if (result.value !== before) break;
        result.value = grown(before, came);
      }
      setError(undefined);
    } catch (raised) {
      if (!(raised instanceof RequestError)) throw raised;
      setError(raised);
    } finally {
      setBusy(false);
    }
  };
  const select = (index: number, all: boolean) => {
    if (all) {
      setSelected(selected.size === rows.length ? new Set() : new Set(rows.keys()));
      return;
    }
    const next = new Set(selected);
    if (!next.delete(index)) next.add(index);
    setSelected(next);
  };
  const replace = (index: number, row: Row | null) => {
    result.value = { ...shown, rows: row === null ? rows.filter((_, place) => place !== index) : rows.map((each, place) => (place === index ? row : each)) };
    if (row === null) setSelected(NONE);
  };
  const chosen = [...selected].filter((index) => index < rows.length).sort((left, right) => left - right);
  const exported = chosen.length > 0 ? chosen.map((index) => rows[index]!) : rows;

  return (
    <Panel
      title={`${count(rows.length)} ${rows.length === 1 ? "row" : "rows"}${shown.next === null ? "" : ", and more"}`}
      tools={
        <>
          <span class="muted">
            {count(shown.rowsRead)} read in {count(shown.requests)} {shown.requests === 1 ? "request" : "requests"}, {ratio(shown.units)} units, {dollars(shown.dollars)}, {seconds(shown.seconds)}
          </span>
          <select aria-label="Rows as" value={mode} onChange={(event) => setMode(event.currentTarget.value as Mode)}>
            {typed && <option value="typed">Typed</option>}
            <option value="stored">As stored</option>
            <option value="json">DynamoDB JSON</option>
          </select>
        </>
      }
    >
      {rows.length === 0 ? (
        <Empty>
          No rows. {shown.next === null ? "The key is right, but nothing is stored under it" : "This page had none, but there are more pages"}
          {shown.rowsRead > 0 && `; ${count(shown.rowsRead)} rows were read and filtered out`}.
        </Empty>
      ) : (
        <Grid
          label={`Rows of ${table.name}`}
          columns={columns}
          rows={rows}
          onOpen={(_, index) => setOpen(index)}
          {...(table.editable ? { selected, onSelect: select } : {})}
        />
      )}
      <div class="result-bar">
        {shown.next !== null && (
          <>
            <button type="button" disabled={busy} onClick={() => void more(1)}>
              Next page
            </button>
            {busy ? (
              <button type="button" onClick={() => (stopped.current = true)}>
                Stop
              </button>
            ) : (
              <button type="button" onClick={() => void more(Infinity)} title={`Up to ${count(MOST_ROWS)} rows`}>
                All pages
              </button>
            )}
          </>
        )}
        <button type="button" onClick={() => setOpen("code")}>
          Code
        </button>
        <button type="button" disabled={exported.length === 0} onClick={() => download(`${table.name}.csv`, "text/csv", csv(exported))}>
          CSV
        </button>
        <button type="button" disabled={exported.length === 0} onClick={() => download(`${table.name}.jsonl`, "application/jsonl", jsonLines(exported))}>
          JSON lines
        </button>
        {table.editable && (
          <>
            <button type="button" onClick={() => setOpen("new")}>
              New row
            </button>
            <button type="button" class="danger" disabled={chosen.length === 0} onClick={() => setOpen("delete")}>
              Delete {chosen.length > 0 ? count(chosen.length) : "selected"}…
            </button>
          </>
        )}
        <span class="spacer" />
        <span class="muted">A double click or Enter opens a row{table.editable ? "; its box or the space bar selects it" : ""}.</span>
      </div>
      {error && <Problem error={error} />}
      {open === "code" && <CodeDialog asked={shown.code} onClose={() => setOpen(undefined)} />}
      {open === "delete" && (
        <BulkDelete
          table={table}
          rows={chosen.map((index) => rows[index]!)}
          onClose={() => setOpen(undefined)}
          onDone={(left) => {
            const gone = new Set(chosen.map((index) => rows[index]!));
            result.value = { ...shown, rows: rows.filter((each) => !gone.has(each) || left(each)) };
            setSelected(NONE);
          }}
        />
      )}
      {open === "new" && <RowDialog table={table} row={null} onClose={() => setOpen(undefined)} onChanged={(row) => {
            if (row === null) return;
            result.value = { ...shown, rows: [row, ...rows] };
            setSelected(NONE);
          }} />}
      {typeof open === "number" && rows[open] && <RowDialog table={table} row={rows[open]} onClose={() => setOpen(undefined)} onChanged={(row) => replace(open, row)} />}
    </Panel>
  );
}
