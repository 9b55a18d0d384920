// How rows become columns: the fields of their classes, the attributes as stored, or the JSON as it is.
import type { DeclaredClass, Row, Table } from "../../api/types.ts";
import type { Column } from "../../table/Grid.tsx";
import { bytes } from "../../numbers.ts";
import { clipped, summary, typeOf } from "../../values/attribute.ts";

/** As Python shows the value of a field that is not set. */
export const NOTHING = "None";

export type Mode = "typed" | "stored" | "json";

/** Rows of which names and widths are taken: all of a page, and some of very many. */
const LOOKED_AT = 400;
const [NARROW, WIDE] = [74, 330];
const CHARACTER = 7.1;

export function columnsOf(mode: Mode, rows: readonly Row[], table: Table, classes: DeclaredClass[]): Column<Row>[] {
  const sample = rows.length <= LOOKED_AT ? rows : [...rows.slice(0, LOOKED_AT / 2), ...rows.slice(-LOOKED_AT / 2)];
  const size: Column<Row> = { key: "size", title: "Size", width: 76, align: "right", cell: (row) => bytes(row.bytes) };
  if (mode === "json") {
    return [{ key: "json", title: "DynamoDB JSON", width: 1100, cell: (row) => clipped(JSON.stringify(row.item), 600) }, size];
  }
  if (mode === "typed") {
    const named = new Set(sample.map((each) => each.class).filter((each) => each !== null));
    const fields = [...new Set(classes.filter(({ name }) => named.has(name)).flatMap((each) => each.fields.map(({ name }) => name)))];
    const columns = fields.map((name) => column(sample, `field:${name}`, name, (row) => clipped(row.fields?.[name] ?? "", 120), (row) => isNumber(classes, row.class, name)));
    // Fields that no row has are at the end.
    const has = (name: string) => sample.some((row) => (row.fields?.[name] ?? NOTHING) !== NOTHING);
    columns.sort((left, right) => Number(has(right.title)) - Number(has(left.title)));
    const strange = sample.some((each) => each.class === null || each.problem !== null);
    return [
      ...(named.size > 1 || strange ? [column(sample, "class", "Class", (row) => row.class ?? "–", () => false)] : []),
      ...columns,
      ...(strange ? [column(sample, "problem", "As stored", (row) => (row.class === null || row.problem ? clipped(row.problem ?? summary({ M: row.item }), 120) : ""), () => false)] : []),
      size,
    ];
  }
  const keys = table.key.map(({ name }) => name);
  const others = [...new Set(sample.flatMap((each) => Object.keys(each.item)))].filter((name) => !keys.includes(name)).sort();
  return [
    ...[...keys, ...others].map((name) =>
      column(sample, `stored:${name}`, clipped(name, 60), (row) => (row.item[name] === undefined ? "" : summary(row.item[name])), (row) => row.item[name] === undefined || typeOf(row.item[name]) === "N"),
    ),
    size,
  ];
}

function column(sample: readonly Row[], key: string, title: string, text: (row: Row) => string, number: (row: Row) => boolean): Column<Row> {
  const longest = sample.reduce((most, row) => Math.max(most, text(row).length), title.length);
  const width = Math.round(Math.min(WIDE, Math.max(NARROW, longest * CHARACTER + 20)));
  return { key, title, width, ...(sample.length > 0 && sample.every(number) ? { align: "right" as const } : {}), cell: text };
}

function isNumber(classes: DeclaredClass[], of: string | null, field: string): boolean {
  const type = classes.find(({ name }) => name === of)?.fields.find(({ name }) => name === field)?.type ?? "";
  return /^(int|float|Decimal)\b/.test(type);
}
