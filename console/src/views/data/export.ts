// Rows as a file, made in the page from what it shows.
import type { Row } from "../../api/types.ts";
import { type AttributeValue, contentOf, names, typeOf } from "../../values/attribute.ts";

export function jsonLines(rows: readonly Row[]): string {
  return rows.map((each) => `${JSON.stringify(each.item)}\n`).join("");
}

/** Texts and numbers as they are; what has a structure as DynamoDB JSON. */
export function csv(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((each) => names(each.item)))];
  const lines = rows.map(({ item }) => columns.map((name) => (item[name] === undefined ? "" : cell(item[name]))));
  return [columns.map((name) => quoted(name)), ...lines].map((each) => `${each.join(",")}\r\n`).join("");
}

function cell(value: AttributeValue): string {
  const type = typeOf(value);
  if (type === "NULL") return "";
  if (type === "S" || type === "N" || type === "B" || type === "BOOL") return quoted(String(contentOf(value)), type === "N");
  return quoted(JSON.stringify(contentOf(value)));
}

/** A text that a spreadsheet would run as a formula gets an apostrophe before it. */
function quoted(text: string, isNumber = false): string {
  const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
