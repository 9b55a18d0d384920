// The data: tables, and three ways into one of them.
import { useEffect } from "preact/hooks";
import { type Loaded, useLoaded } from "../../api/loaded.ts";
import { api } from "../../api/requests.ts";
import type { DeclaredClass, Model, Table, Tables } from "../../api/types.ts";
import { bytes, count } from "../../numbers.ts";
import { Empty, Page, Shown, Tabs } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { ByPath } from "./ByPath.tsx";
import { choose, table as chosenTable, way, type Way } from "./chosen.ts";
import { Raw } from "./Raw.tsx";
import { ResultPanel } from "./ResultPanel.tsx";
import { Structure } from "./Structure.tsx";

/** Tables come and go, and their counts with them. */
const EVERY = 5000;

export function Data() {
  const tables = useLoaded(() => api<Tables>("tables"), [], EVERY);
  const model = useLoaded(() => api<Model>("model"), []);
  return (
    <Page title="Data">
      <Shown loaded={tables}>
        {(value) =>
          value.tables.length === 0 ? (
            <Empty>
              This store has no tables yet. A table appears here as soon as a program creates one
              {about.value!.endpoint && (
                <>
                  {" "}
                  by the endpoint <code>{about.value!.endpoint}</code>
                </>
              )}
              .
            </Empty>
          ) : (
            <Browser tables={value.tables} model={model} />
          )
        }
      </Shown>
    </Page>
  );
}

function Browser({ tables, model }: { tables: Table[]; model: Loaded<Model> }) {
  useEffect(() => {
    if (!tables.some(({ name }) => name === chosenTable.value)) choose(first(tables).name);
  }, [tables]);
  const table = tables.find(({ name }) => name === chosenTable.value);
  const classes = model.value?.classes.filter((each) => each.table === table?.name);
  return (
    <div class="data">
      <TableList tables={tables} />
      {table && classes && <Chosen key={table.name} table={table} classes={classes} />}
      {!classes && <Shown loaded={model}>{() => null}</Shown>}
    </div>
  );
}

function first(tables: Table[]): Table {
  return tables.find((each) => each.declared && each.service !== "sortkey") ?? tables[0]!;
}

function TableList({ tables }: { tables: Table[] }) {
  const groups = new Map<string, Table[]>();
  for (const each of [...tables].sort((left, right) => rank(left) - rank(right) || (left.name < right.name ? -1 : 1))) {
    const group = each.service ?? (each.declared ? "declared" : "found in the store");
    groups.set(group, [...(groups.get(group) ?? []), each]);
  }
  return (
    <nav aria-label="Tables" class="tables">
      {[...groups].map(([group, members]) => (
        <div>
          <p class="group">{group === "sortkey" ? "sortkey's own" : group}</p>
          <ul>
            {members.map((each) => (
              <li>
                <button
                  type="button"
                  aria-pressed={each.name === chosenTable.value}
                  title={`${each.name}: ${count(each.items)} items, ${bytes(each.bytes)}`}
                  onClick={() => choose(each.name)}
                >
                  <span class="name">{each.name}</span>
                  <span class="muted">{count(each.items)}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function rank(table: Table): number {
  if (table.service === "sortkey") return 2;
  return table.declared ? 0 : 1;
}

function Chosen({ table, classes }: { table: Table; classes: DeclaredClass[] }) {
  const ways: { key: Way; title: string }[] = [
    ...(classes.some((each) => each.paths.length > 0) ? [{ key: "path" as const, title: "By access path" }] : []),
    { key: "raw", title: "Query, scan, PartiQL" },
    { key: "structure", title: "Keys and indexes" },
  ];
  const chosen = ways.some(({ key }) => key === way.value) ? way.value : ways[0]!.key;
  return (
    <div>
      <Tabs label={`Ways into ${table.name}`} choices={ways} chosen={chosen} onChoose={(key) => (way.value = key)} />
      {chosen === "path" && <ByPath table={table} classes={classes} />}
      {chosen === "raw" && <Raw table={table} />}
      {chosen === "structure" && <Structure table={table} classes={classes} />}
      {chosen !== "structure" && <ResultPanel classes={classes} />}
    </div>
  );
}
