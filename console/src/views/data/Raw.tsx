// Query and Scan as DynamoDB has them, with the price before they run.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { api, RequestError } from "../../api/requests.ts";
import type { Key, Price, Run, Table } from "../../api/types.ts";
import { count, dollars, plural, ratio } from "../../numbers.ts";
import { Field, Panel, Problem } from "../../shell/parts.tsx";
import { EditError } from "../../values/edited.ts";
import { begun, result } from "./chosen.ts";
import { EMPTY_FORM, type Filter, FILTER_OPERATORS, keyOf, type RawForm, requestOf, SORT_OPERATORS } from "./raw-request.ts";
import { useSettled } from "./settled.ts";

const form = signal<{ table: string; form: RawForm; written: string | undefined }>({ table: "", form: EMPTY_FORM, written: undefined });

export function Raw({ table }: { table: Table }) {
  if (form.value.table !== table.name) form.value = { table: table.name, form: EMPTY_FORM, written: undefined };
  const { form: filled, written } = form.value;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<RequestError>();
  const set = (what: Partial<RawForm>) => (form.value = { table: table.name, form: { ...filled, ...what }, written: undefined });
  const built = build(table, filled, written);
  const settled = useSettled(JSON.stringify(built.request ?? null), 250);
  const asked = JSON.parse(settled) as object | null;
  const price = useLoaded(
    asked && !built.problem ? () => api<Price>("price", { operation: filled.operation, request: asked }) : undefined,
    [filled.operation, settled, built.problem],
    undefined,
    true,
  );
  const key = keyOf(table, filled.index);
  const sortKey = key.find(({ role }) => role === "RANGE");

  const run = (event: SubmitEvent) => {
    event.preventDefault();
    const { request } = built;
    if (!request) return;
    setBusy(true);
    const code = { operation: filled.operation, request };
    const next = filled.operation === "ExecuteStatement" ? "NextToken" : "ExclusiveStartKey";
    const more = (after: unknown) => api<Run>("run", { ...code, request: { ...request, [next]: after as Key } });
    api<Run>("run", code)
      .then(
        (page) => {
          result.value = begun(table, page, code, more);
          setError(undefined);
        },
        (raised: unknown) => {
          if (!(raised instanceof RequestError)) throw raised;
          setError(raised);
        },
      )
      .finally(() => setBusy(false));
  };

  return (
    <Panel title="Query, scan, PartiQL" tools={<span class="muted">A Query reads a partition, a Scan reads all of the table.</span>}>
      <form onSubmit={run} class="ask">
        <div class="fields">
          <Field label="Operation">
            {(id) => (
              <select id={id} value={filled.operation} onChange={(event) => set({ operation: event.currentTarget.value as RawForm["operation"] })}>
                <option>Scan</option>
                <option>Query</option>
                <option value="ExecuteStatement">PartiQL</option>
              </select>
            )}
          </Field>
          {filled.operation !== "ExecuteStatement" && (
            <Field label="Of">
              {(id) => (
                <select id={id} value={filled.index} onChange={(event) => set({ index: event.currentTarget.value })}>
                  <option value="">the table</option>
                  {table.indexes.map(({ name }) => (
                    <option value={name}>index {name}</option>
                  ))}
                </select>
              )}
            </Field>
          )}
          {filled.operation === "Query" && (
            <>
              <Field label={key[0]!.name} hint="partition key">
                {(id) => <input id={id} value={filled.partition} autocomplete="off" spellcheck={false} onInput={(event) => set({ partition: event.currentTarget.value })} />}
              </Field>
              {sortKey && (
                <Field label={sortKey.name} hint="sort key">
                  {(id) => (
                    <select id={id} value={filled.sort} onChange={(event) => set({ sort: event.currentTarget.value as RawForm["sort"] })}>
                      {SORT_OPERATORS.map((each) => (
                        <option>{each}</option>
                      ))}
                    </select>
                  )}
                </Field>
              )}
              {sortKey && filled.sort !== "any" && (
                <Field label={filled.sort === "between" ? "From" : "Value"}>
                  {(id) => <input id={id} value={filled.from} autocomplete="off" onInput={(event) => set({ from: event.currentTarget.value })} />}
                </Field>
              )}
              {sortKey && filled.sort === "between" && (
                <Field label="To">{(id) => <input id={id} value={filled.to} autocomplete="off" onInput={(event) => set({ to: event.currentTarget.value })} />}</Field>
              )}
            </>
          )}
        </div>
        {filled.operation === "ExecuteStatement" ? (
          <Field label="Statement">
            {(id) => (
              <textarea id={id} rows={3} value={filled.statement} placeholder={`SELECT * FROM "${table.name}"`} onInput={(event) => set({ statement: event.currentTarget.value })} />
            )}
          </Field>
        ) : (
          <Filters filters={filled.filters} onChange={(filters) => set({ filters })} />
        )}
        <div class="fields options">
          {filled.operation === "Query" && (
            <label class="check">
              <input type="checkbox" checked={filled.descending} onChange={(event) => set({ descending: event.currentTarget.checked })} /> Descending
            </label>
          )}
          <label class="check">
            Rows read a page{" "}
            <select value={filled.limit} onChange={(event) => set({ limit: Number(event.currentTarget.value) })}>
              {[25, 100, 1000].map((each) => (
                <option value={each}>{each}</option>
              ))}
            </select>
          </label>
        </div>
        <details class="request">
          <summary>The request</summary>
          <Field label="As DynamoDB takes it; what is written here is what is sent">
            {(id) => (
              <textarea
                id={id}
                rows={8}
                spellcheck={false}
                value={written ?? JSON.stringify(built.request ?? {}, null, 2)}
                onInput={(event) => (form.value = { ...form.value, written: event.currentTarget.value })}
              />
            )}
          </Field>
        </details>
        {built.problem && <p class="muted">{built.problem}</p>}
        {price.error && price.error.code !== "away" && <Problem error={price.error} />}
        {price.value && !built.problem && (
          <p class="cost" aria-live="polite">
            <span>
              This page: <strong>{ratio(price.value.page.units)}</strong> units, <strong>{dollars(price.value.page.dollars)}</strong>
            </span>
            <span>
              In all, {plural(price.value.pages, "page")}: {price.value.whole.atMost ? "at most " : ""}
              <strong>{ratio(price.value.whole.units)}</strong> units, <strong>{dollars(price.value.whole.dollars)}</strong>, {count(price.value.whole.rows)} rows
            </span>
            <span class="muted">{price.value.whole.source}</span>
          </p>
        )}
        {error && <Problem error={error} />}
        <button type="submit" class="main" disabled={busy || !built.request}>
          {busy ? "Reading…" : filled.operation === "ExecuteStatement" ? "Run" : filled.operation}
        </button>
      </form>
    </Panel>
  );
}

function Filters({ filters, onChange }: { filters: Filter[]; onChange: (filters: Filter[]) => void }) {
  const set = (place: number, what: Partial<Filter>) => onChange(filters.map((each, index) => (index === place ? { ...each, ...what } : each)));
  return (
    <div>
      {filters.map((each, place) => (
        <div class="fields filter">
          <Field label="Attribute">
            {(id) => <input id={id} value={each.attribute} autocomplete="off" spellcheck={false} onInput={(event) => set(place, { attribute: event.currentTarget.value })} />}
          </Field>
          <Field label="Condition">
            {(id) => (
              <select id={id} value={each.operator} onChange={(event) => set(place, { operator: event.currentTarget.value as Filter["operator"] })}>
                {FILTER_OPERATORS.map((name) => (
                  <option>{name}</option>
                ))}
              </select>
            )}
          </Field>
          {!each.operator.startsWith("attribute") && (
            <>
              <Field label="Type">
                {(id) => (
                  <select id={id} value={each.type} onChange={(event) => set(place, { type: event.currentTarget.value as Filter["type"] })}>
                    <option value="S">text</option>
                    <option value="N">number</option>
                    <option value="BOOL">boolean</option>
                    <option value="B">binary</option>
                  </select>
                )}
              </Field>
              <Field label="Value">{(id) => <input id={id} value={each.text} autocomplete="off" onInput={(event) => set(place, { text: event.currentTarget.value })} />}</Field>
            </>
          )}
          <button type="button" class="quiet" onClick={() => onChange(filters.filter((_, index) => index !== place))}>
            Remove this filter
          </button>
        </div>
      ))}
      <button type="button" class="quiet" onClick={() => onChange([...filters, { attribute: "", operator: "=", type: "S", text: "" }])}>
        Add a filter
      </button>{" "}
      {filters.length > 0 && <span class="muted">Rows are read and paid for before they are filtered.</span>}
    </div>
  );
}

function build(table: Table, filled: RawForm, written: string | undefined): { request?: Record<string, unknown>; problem?: string } {
  if (written !== undefined) {
    try {
      return { request: JSON.parse(written) as Record<string, unknown> };
    } catch (error) {
      return { problem: `Not JSON: ${(error as Error).message}` };
    }
  }
  if (filled.operation === "Query" && filled.partition === "") return { problem: "Fill the partition key: a Query reads one partition." };
  if (filled.operation === "ExecuteStatement" && filled.statement.trim() === "") return { problem: "Write a statement." };
  try {
    return { request: requestOf(table, filled) };
  } catch (error) {
    if (!(error instanceof EditError)) throw error;
    return { problem: error.message };
  }
}
