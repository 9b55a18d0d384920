// Rows by an access path: choose it, fill its fields, see the request and its price before it is sent.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { api, RequestError } from "../../api/requests.ts";
import type { Cursor, DeclaredClass, DeclaredPath, Examples, Page, PathField, PathRequest, Plan, Table } from "../../api/types.ts";
import { count, dollars, plural, ratio } from "../../numbers.ts";
import { CopyButton, Field, Panel, Problem } from "../../shell/parts.tsx";
import { asked, type Asked, begun, choosePath, path as chosenPath, type Result, result } from "./chosen.ts";
import { useSettled } from "./settled.ts";

const MONTH_SECONDS = 30 * 86_400;

export function ByPath({ table, classes }: { table: Table; classes: DeclaredClass[] }) {
  const paths = classes.flatMap((each) => each.paths);
  const path = paths.find(({ name }) => name === chosenPath.value);
  useEffect(() => {
    if (!path && paths[0]) choosePath(paths[0]);
  }, [path, table.name]);
  return (
    <Panel title="Access path" tools={<span class="muted">Each answers one question with exact keys.</span>}>
      <fieldset class="paths-of plain-set">
        <legend class="visually-hidden">Access path</legend>
        {paths.map((each) => (
          <label>
            <input type="radio" name="path" checked={each === path} onChange={() => choosePath(each)} />
            <span>{each.name}</span>
            <span class="template">
              {each.index && `${each.index}: `}
              {each.partitionTemplate}
              {each.sortTemplate !== null && ` · ${each.sortTemplate}`}
            </span>
          </label>
        ))}
      </fieldset>
      {path && <Ask key={path.name} table={table} path={path} />}
    </Panel>
  );
}

function Ask({ table, path }: { table: Table; path: DeclaredPath }) {
  const examples = useLoaded(() => api<Examples>("examples", { path: path.name }), [path.name]);
  const [turn, setTurn] = useState(0);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<RequestError>();
  const found = examples.value?.examples ?? [];
  useEffect(() => {
    if (found[0] && Object.values(asked.value.fields).every((each) => each === "")) fill(path, found[0]);
  }, [examples.value]);

  const request = requestOf(path, asked.value);
  const complete = path.partition.every(({ name }) => request.fields[name] !== undefined);
  const settled = useSettled(JSON.stringify(request), 180);
  const plan = useLoaded(complete ? () => api<Plan>("plan", JSON.parse(settled) as object) : undefined, [complete, settled], undefined, true);
  const missing = path.partition.filter(({ name }) => request.fields[name] === undefined).map(({ name }) => name);

  const run = (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    const more = (after: Cursor) => api<Page>("page", { ...request, after });
    api<Page>("page", request)
      .then(
        (page) => {
          result.value = begun(table, page, request, more);
          setError(undefined);
        },
        (raised: unknown) => {
          if (!(raised instanceof RequestError)) throw raised;
          setError(raised);
        },
      )
      .finally(() => setBusy(false));
  };
  const another = () => {
    const next = (turn + 1) % found.length;
    setTurn(next);
    fill(path, found[next]!);
  };

  return (
    <form onSubmit={run} class="ask">
      <div class="fields">
        {path.partition.map((each) => (
          <Filled key={each.name} field={each} role="partition" values={valuesOf(found, each.name)} />
        ))}
        {!asked.value.collection && path.sort.map((each) => <Filled key={each.name} field={each} role="sort" values={valuesOf(found, each.name)} />)}
        {!asked.value.collection && <Range path={path} />}
      </div>
      <div class="fields options">
        <button type="submit" class="main" disabled={busy || !complete || plan.error !== undefined}>
          {busy ? "Reading…" : "Read"}
        </button>
        <label class="check">
          <input type="checkbox" checked={asked.value.descending} onChange={(event) => change({ descending: event.currentTarget.checked })} /> Descending
        </label>
        <label class="check">
          <input type="checkbox" checked={asked.value.collection} onChange={(event) => change({ collection: event.currentTarget.checked })} /> Rows of all classes
        </label>
        <label class="check">
          Rows a page{" "}
          <select value={asked.value.first} onChange={(event) => change({ first: Number(event.currentTarget.value) })}>
            {[10, 50, 200, 1000].map((each) => (
              <option value={each}>{each}</option>
            ))}
          </select>
        </label>
        <button type="button" class="quiet" disabled={found.length === 0} onClick={another}>
          {examples.loading ? "Looking for examples…" : found.length === 0 ? "No examples in the data" : "Another example"}
        </button>
      </div>
      {missing.length > 0 && <p class="muted cost">Fill {missing.join(", ")}: the whole partition key is needed.</p>}
      {plan.error && plan.error.code !== "away" && <Problem error={plan.error} />}
      {complete && plan.value && <Planned plan={plan.value} read={result.value && JSON.stringify(result.value.code) === settled ? result.value : undefined} />}
      {error && <Problem error={error} />}
    </form>
  );
}

const perSecond = signal("10");

/** `read`: the pages of this very request, which tell what it costs. */
function Planned({ plan, read }: { plan: Plan; read: Result | undefined }) {
  const { estimate } = plan;
  const rate = Number(perSecond.value);
  const each = read ? read.dollars / read.pages : estimate.dollars;
  const month = each * rate * MONTH_SECONDS;
  return (
    <>
      <p class="cost" aria-live="polite">
        <span>
          <strong>{plan.operation}</strong> on {plan.index ?? "the table"}
          {plan.requests > 1 && `, ${count(plan.requests)} requests`}
        </span>
        <span>
          {read ? (
            <>
              <strong>{ratio(read.units / read.pages)}</strong> units a page
            </>
          ) : (
            <>
              {estimate.atMost ? "at most " : ""}
              <strong>{ratio(estimate.units)}</strong> units for {plural(estimate.rows, "row")} of {count(estimate.rowBytes)} B
            </>
          )}
        </span>
        <span>
          <strong>{dollars(each * 1e6)}</strong> a million
        </span>
        <label class="check">
          <input type="number" class="short" min="0" step="any" aria-label="Requests a second" value={perSecond.value} onInput={(event) => (perSecond.value = event.currentTarget.value)} />
          <span>
            a second: <strong>{Number.isFinite(month) && month >= 0 ? dollars(month) : "–"}</strong> a month
          </span>
        </label>
        <span class="muted">{read ? "as it was just read" : estimate.source}</span>
      </p>
      <details class="request">
        <summary>The request that it becomes</summary>
        <code class="code flow">{plan.text}</code>
        <code class="code">{JSON.stringify(plan.request, null, 2)}</code>
        <CopyButton text={() => JSON.stringify(plan.request, null, 2)}>Copy the request</CopyButton>
      </details>
    </>
  );
}

function Filled({ field, role, values }: { field: PathField; role: "partition" | "sort"; values: string[] }) {
  const value = asked.value.fields[field.name] ?? "";
  const set = (text: string) => change({ fields: { ...asked.value.fields, [field.name]: text } });
  return (
    <Field label={field.name} hint={`${field.type}${role === "sort" ? ", sort key" : ""}`}>
      {(id) =>
        field.input === "choice" || field.input === "boolean" ? (
          <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
            <option value="">–</option>
            {(field.input === "boolean" ? ["true", "false"] : (field.choices ?? [])).map((each) => (
              <option>{each}</option>
            ))}
          </select>
        ) : (
          <>
            <input
              id={id}
              list={`${id}-examples`}
              value={value}
              autocomplete="off"
              spellcheck={false}
              placeholder={PLACEHOLDERS[field.input] ?? ""}
              inputMode={field.input === "integer" ? "numeric" : field.input === "number" ? "decimal" : "text"}
              onInput={(event) => set(event.currentTarget.value)}
            />
            <datalist id={`${id}-examples`}>
              {values.map((each) => (
                <option value={each} />
              ))}
            </datalist>
          </>
        )
      }
    </Field>
  );
}

const PLACEHOLDERS: Partial<Record<PathField["input"], string>> = {
  instant: "2026-08-24T12:00:00Z",
  date: "2026-08-24",
  time: "12:30:00",
  binary: "hexadecimal",
};

const RANGES = { between: "between", before: "before", after: "after", starting: "starting with" } as const;

/** The range at the end: over the first field of the sort key that has no value. */
function Range({ path }: { path: DeclaredPath }) {
  const open = path.sort.find(({ name }) => (asked.value.fields[name] ?? "") === "");
  if (!path.ranges || !open) return null;
  const { range } = asked.value;
  const choose = (name: string) => {
    if (name === "") change({ range: undefined });
    else change({ range: { name: name as keyof typeof RANGES, values: name === "between" ? ["", ""] : [""] } });
  };
  const set = (index: number, text: string) => {
    if (range) change({ range: { ...range, values: range.values.map((each, place) => (place === index ? text : each)) } });
  };
  return (
    <>
      <Field label={`Range of ${open.name}`}>
        {(id) => (
          <select id={id} value={range?.name ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
            <option value="">all</option>
            {Object.entries(RANGES).map(([name, words]) => (
              <option value={name}>{words}</option>
            ))}
          </select>
        )}
      </Field>
      {range?.values.map((value, index) => (
        <Field key={index} label={`${open.name} ${RANGES[range.name]}${range.values.length > 1 ? (index === 0 ? " (from)" : " (to)") : ""}`}>
          {(id) => (
            <input id={id} value={value} autocomplete="off" placeholder={PLACEHOLDERS[open.input] ?? ""} onInput={(event) => set(index, event.currentTarget.value)} />
          )}
        </Field>
      ))}
    </>
  );
}

function change(what: Partial<Asked>): void {
  asked.value = { ...asked.value, ...what };
}

/** An example fills the partition key: all its rows are shown. */
function fill(path: DeclaredPath, example: Record<string, string>): void {
  change({ fields: Object.fromEntries(path.partition.map(({ name }) => [name, example[name] ?? ""])), range: undefined });
}

function valuesOf(examples: Record<string, string>[], field: string): string[] {
  return [...new Set(examples.map((each) => each[field]).filter((each) => each !== undefined))].slice(0, 50);
}

function requestOf(path: DeclaredPath, { fields, range, descending, first, collection }: Asked): PathRequest {
  const names = [...path.partition, ...(collection ? [] : path.sort)].map(({ name }) => name);
  return {
    path: path.name,
    fields: Object.fromEntries(names.filter((name) => (fields[name] ?? "") !== "").map((name) => [name, fields[name]!])),
    ...(range && !collection && range.values.every((each) => each !== "") ? { range } : {}),
    ...(descending ? { descending } : {}),
    ...(collection ? { collection } : {}),
    first,
  };
}
