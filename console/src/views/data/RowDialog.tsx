// One row: as its class reads it, as it is stored, and to be edited or deleted.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { api, RequestError } from "../../api/requests.ts";
import type { Delete, ItemAnswer, Put, Row, Table } from "../../api/types.ts";
import { bytes, count, dollars, ratio } from "../../numbers.ts";
import { CopyButton, Dialog, Problem, Shown, Tabs } from "../../shell/parts.tsx";
import { type Item, summary, visibleLines } from "../../values/attribute.ts";
import { differences } from "../../values/diff.ts";
import { DiffView } from "../../values/DiffView.tsx";
import { ItemValue } from "../../values/Value.tsx";
import { CodeDialog } from "./CodeDialog.tsx";
import { Editor } from "./Editor.tsx";

interface Props {
  table: Table;
  /** None: a new one. */
  row: Row | null;
  onClose: () => void;
  /** The row as it is now; null when it is deleted. */
  onChanged: (row: Row | null) => void;
}

export function RowDialog({ table, row, onClose, onChanged }: Props) {
  const title = row === null ? `New row of ${table.name}` : `${table.name} ${summary({ M: row.key }, 90)}`;
  // A row of an index that has not all attributes is fetched whole.
  const whole = useLoaded(row?.partial ? () => api<ItemAnswer>("item", { table: table.name, key: row.key }) : undefined, [row?.key]);
  const [latest, setLatest] = useState<Row>();
  return (
    <Dialog title={title} onClose={onClose}>
      {row?.partial ? (
        <Shown loaded={whole}>
          {(value) =>
            value.row ? <Whole table={table} row={value.row} onClose={onClose} onChanged={onChanged} onLatest={setLatest} /> : <p class="notice">The index has this row, the table no longer.</p>
          }
        </Shown>
      ) : (
        <Whole key={latest?.seen} table={table} row={latest ?? row} onClose={onClose} onChanged={onChanged} onLatest={setLatest} />
      )}
    </Dialog>
  );
}

type Tab = "fields" | "stored" | "json" | "edit" | "delete";

function Whole({ table, row, onClose, onChanged, onLatest }: Props & { onLatest: (row: Row) => void }) {
  const [tab, setTab] = useState<Tab>(row === null ? "edit" : row.fields ? "fields" : "stored");
  const [code, setCode] = useState(false);
  if (row === null) return <Edit table={table} row={null} onClose={onClose} onChanged={onChanged} onLatest={onLatest} />;
  const tabs: { key: Tab; title: string }[] = [
    ...(row.fields ? [{ key: "fields" as const, title: row.class ?? "Typed" }] : []),
    { key: "stored", title: "As stored" },
    { key: "json", title: "DynamoDB JSON" },
    ...(table.editable ? [{ key: "edit" as const, title: "Edit" }, { key: "delete" as const, title: "Delete" }] : []),
  ];
  const json = () => JSON.stringify(row.item, null, 2);
  return (
    <div>
      <Tabs label="The row" choices={tabs} chosen={tab} onChoose={setTab} />
      {row.problem && <p class="notice">The class {row.class} cannot read it: {row.problem}</p>}
      {tab === "fields" && row.fields && (
        <dl class="item">
          {Object.entries(row.fields).map(([name, text]) => (
            <div class="entry">
              <dt>
                <span class="name">{name}</span>
              </dt>
              <dd>
                <code class="plain">{visibleLines(text.length > 4000 ? `${text.slice(0, 4000)}…` : text)}</code>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {tab === "stored" && <ItemValue item={row.item} keys={table.key.map(({ name }) => name)} />}
      {tab === "json" && (
        <pre class="code" tabIndex={0} aria-label="DynamoDB JSON">
          {visibleLines(json().slice(0, 60_000))}
          {json().length > 60_000 && "…"}
        </pre>
      )}
      {(tab === "fields" || tab === "stored" || tab === "json") && (
        <p class="tools">
          <span class="muted">{bytes(row.bytes)}</span>
          <CopyButton text={json}>Copy as JSON</CopyButton>
          <button type="button" class="quiet" onClick={() => setCode(true)}>
            Code
          </button>
        </p>
      )}
      {tab === "edit" && <Edit table={table} row={row} onClose={onClose} onChanged={onChanged} onLatest={onLatest} />}
      {tab === "delete" && <Remove table={table} row={row} onClose={onClose} onChanged={onChanged} />}
      {code && <CodeDialog asked={{ operation: "GetItem", request: { TableName: table.name, Key: row.key } }} onClose={() => setCode(false)} />}
    </div>
  );
}

function Edit({ table, row, onClose, onChanged, onLatest }: Props & { onLatest: (row: Row) => void }) {
  const [review, setReview] = useState<{ item: Item; answer: Put }>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<RequestError>();
  const put = (item: Item, dryRun: boolean) => {
    setBusy(true);
    api<Put>("put", { table: table.name, item, seen: row?.seen ?? null, dryRun })
      .then(
        (answer) => {
          setError(undefined);
          if (dryRun) setReview({ item, answer });
          else {
            onChanged(answer.row);
            onClose();
          }
        },
        (raised: unknown) => {
          if (!(raised instanceof RequestError)) throw raised;
          setError(raised);
        },
      )
      .finally(() => setBusy(false));
  };
  if (!review) {
    return (
      <>
        <Editor item={row?.item ?? emptyItem(table)} keys={table.key} isNew={row === null} busy={busy} onReview={(item) => put(item, true)} />
        {error && <Refused error={error} row={row} onLatest={onLatest} />}
      </>
    );
  }
  const { item, answer } = review;
  return (
    <>
      <DiffView differences={differences(answer.before ?? {}, answer.after)} empty="Nothing has changed." />
      {answer.warnings.map((each) => (
        <p class="notice">{each}</p>
      ))}
      {answer.fixed && (
        <p>
          <button type="button" onClick={() => put(answer.fixed!, true)}>
            Use the keys that the class would write
          </button>
        </p>
      )}
      <p class="cost">
        <span>
          <strong>{ratio(answer.units)}</strong> units, {dollars(answer.dollars)}
        </span>
        <span class="muted">Written only if the row is still as it was shown:</span>
      </p>
      <code class="code flow">{answer.condition}</code>
      {error && <Refused error={error} row={row} onLatest={onLatest} />}
      <div class="actions">
        <button type="button" onClick={() => setReview(undefined)}>
          Back to the editor
        </button>
        <button type="button" class="main" disabled={busy || answer.changes.length === 0} onClick={() => put(item, false)}>
          {busy ? "Writing…" : "Write"}
        </button>
      </div>
    </>
  );
}

/** When the row is not what was shown any more, what it is now. */
function Refused({ error, row, onLatest }: { error: RequestError; row: Row | null; onLatest: (row: Row) => void }) {
  const { current } = error.answer;
  if (error.code !== "changed" || current === undefined) return <Problem error={error} />;
  return (
    <>
      <p class="problem" role="alert">
        {current === null ? "The row is gone: somebody has deleted it." : "The row has changed since it was shown. Nothing was written. This is what somebody else has changed:"}
      </p>
      {current && <DiffView differences={differences(row?.item ?? {}, current.item)} empty="Nothing that is shown." />}
      {current && (
        <button type="button" onClick={() => onLatest(current)}>
          Edit the row as it is now
        </button>
      )}
    </>
  );
}

function Remove({ table, row, onClose, onChanged }: { table: Table; row: Row; onClose: () => void; onChanged: (row: null) => void }) {
  const body = { table: table.name, rows: [{ key: row.key, seen: row.seen }] };
  const dry = useLoaded(() => api<Delete>("delete", { ...body, dryRun: true }), [row.seen]);
  const [problem, setProblem] = useState<Error>();
  const act = () => {
    api<Delete>("delete", { ...body, dryRun: false }).then(
      (answer) => {
        if (answer.changed.length > 0) setProblem(new Error("The row has changed since it was shown, so it was left alone."));
        else if (answer.failed[0]) setProblem(new Error(answer.failed[0].message));
        else {
          onChanged(null);
          onClose();
        }
      },
      (raised: unknown) => {
        if (!(raised instanceof RequestError)) throw raised;
        setProblem(raised);
      },
    );
  };
  return (
    <>
      <DiffView differences={differences(row.item, {})} empty="The row is empty." />
      <Shown loaded={dry}>
        {(value) => (
          <p class="cost">
            {value.deleted === 1 ? `Deletes this row, if it is still as it was shown: ${ratio(value.units)} units, ${dollars(value.dollars)}.` : value.changed.length > 0 ? "The row has changed since it was shown; read it again." : `The row is gone already (${count(value.gone.length)}).`}
          </p>
        )}
      </Shown>
      {problem && <Problem error={problem} />}
      <div class="actions">
        <button type="button" class="danger" disabled={dry.value?.deleted !== 1} onClick={act}>
          Delete this row
        </button>
      </div>
    </>
  );
}

function emptyItem(table: Table): Item {
  return Object.fromEntries(table.key.map(({ name, type }) => [name, type === "N" ? { N: "0" } : type === "B" ? { B: "" } : { S: "" }])) as Item;
}
