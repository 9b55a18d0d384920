// What a table is: its keys, indexes and classes.
import type { DeclaredClass, KeyAttribute, Table as TableShape } from "../../api/types.ts";
import { bytes, count } from "../../numbers.ts";
import { Empty, Panel, Table } from "../../shell/parts.tsx";
import { TYPE_WORDS } from "../../values/attribute.ts";

export function Structure({ table, classes }: { table: TableShape; classes: DeclaredClass[] }) {
  return (
    <>
      <Panel title={table.name} tools={<span class="muted">{table.declared ? "declared" : "found in the store"}, {table.status}</span>}>
        <Table
          label="Keys and indexes"
          heads={[{ title: "" }, { title: "Partition key" }, { title: "Sort key" }, { title: "Projection" }, { title: "Items", align: "right" }, { title: "Size", align: "right" }]}
        >
          <tr>
            <th scope="row">table</th>
            <Keys attributes={table.key} />
            <td>all attributes</td>
            <td class="right">{count(table.items)}</td>
            <td class="right">{bytes(table.bytes)}</td>
          </tr>
          {table.indexes.map((each) => (
            <tr>
              <th scope="row">
                {each.name} {each.local && <span class="badge">local</span>}
                {each.status !== "ACTIVE" && <span class="badge">{each.status}</span>}
              </th>
              <Keys attributes={each.key} />
              <td>{each.projection === "ALL" ? "all attributes" : each.projection === "KEYS_ONLY" ? "keys only" : each.projection.join(", ")}</td>
              <td class="right">{count(each.items)}</td>
              <td class="right">{bytes(each.bytes)}</td>
            </tr>
          ))}
        </Table>
        <p class="muted">
          Stream: {table.stream ?? "none"}. Expiry: {table.ttl === null ? "none" : `by ${table.ttl}`}.
        </p>
      </Panel>
      {classes.length === 0 && <Empty>No class is declared for this table, so its rows are shown as they are stored.</Empty>}
      {classes.map((each) => (
        <Panel title={each.name} tools={<span class="muted">{each.doc}</span>}>
          <Table label={`Access paths of ${each.name}`} heads={[{ title: "Access path" }, { title: "Index" }, { title: "Partition key" }, { title: "Sort key" }]}>
            {each.paths.map((path) => (
              <tr>
                <th scope="row">{path.name}</th>
                <td>{path.index ?? "table"}</td>
                <td class="mono">
                  {path.partitionTemplate}
                  {path.shards !== null && <span class="sub">in {path.shards} shards</span>}
                </td>
                <td class="mono">{path.sortTemplate}</td>
              </tr>
            ))}
          </Table>
          <Table label={`Fields of ${each.name}`} heads={[{ title: "Field" }, { title: "Type" }, { title: "Stored as" }]}>
            {each.fields.map((field) => (
              <tr>
                <th scope="row">
                  {field.name} {field.required && <span class="badge">required</span>}
                </th>
                <td class="mono">{field.type}</td>
                <td class="mono">{field.attribute}</td>
              </tr>
            ))}
          </Table>
        </Panel>
      ))}
    </>
  );
}

function Keys({ attributes }: { attributes: KeyAttribute[] }) {
  const of = (role: KeyAttribute["role"]) => attributes.filter((each) => each.role === role);
  return (
    <>
      {(["HASH", "RANGE"] as const).map((role) => (
        <td>
          {of(role).map((each) => (
            <span>
              <code>{each.name}</code> <span class="muted">{TYPE_WORDS[each.type]}</span>{" "}
            </span>
          ))}
        </td>
      ))}
    </>
  );
}
