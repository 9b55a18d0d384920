// DynamoDB JSON: a value names its type. Nothing here turns a number into a JavaScript number: it has 38 digits.

export type AttributeValue =
  | { S: string }
  | { N: string }
  | { B: string }
  | { BOOL: boolean }
  | { NULL: boolean }
  | { SS: string[] }
  | { NS: string[] }
  | { BS: string[] }
  | { L: AttributeValue[] }
  | { M: Item };
export type Item = { [name: string]: AttributeValue };
export type TypeName = "S" | "N" | "B" | "BOOL" | "NULL" | "SS" | "NS" | "BS" | "L" | "M";

export const TYPE_WORDS: Record<TypeName, string> = {
  S: "text",
  N: "number",
  B: "binary",
  BOOL: "boolean",
  NULL: "null",
  SS: "set of texts",
  NS: "set of numbers",
  BS: "set of binaries",
  L: "list",
  M: "map",
};
export const TYPE_NAMES = Object.keys(TYPE_WORDS) as TypeName[];

export function typeOf(value: AttributeValue): TypeName {
  return Object.keys(value)[0] as TypeName;
}

/** What is inside, whatever its type. */
export function contentOf(value: AttributeValue): unknown {
  return Object.values(value)[0];
}

/** The same values in the same order as text: maps and sets have no order. */
export function canonical(value: AttributeValue): string {
  if ("M" in value) {
    return `{M:{${names(value.M).map((name) => `${JSON.stringify(name)}:${canonical(value.M[name]!)}`).join()}}}`;
  }
  if ("L" in value) {
    return `{L:[${value.L.map(canonical).join()}]}`;
  }
  const content = contentOf(value);
  return JSON.stringify({ [typeOf(value)]: Array.isArray(content) ? [...content].sort() : content });
}

export function equal(left: AttributeValue, right: AttributeValue): boolean {
  return canonical(left) === canonical(right);
}

export function names(item: Item): string[] {
  return Object.keys(item).sort();
}

/** One line for a cell, at most about so many characters. */
export function summary(value: AttributeValue, length = 120): string {
  if ("S" in value) return clipped(value.S, length);
  if ("N" in value) return value.N;
  if ("BOOL" in value) return String(value.BOOL);
  if ("NULL" in value) return "null";
  if ("B" in value) return `${bytesOf(value.B)} B: ${clipped(hex(value.B, 16), length)}`;
  if ("SS" in value) return clipped(`{${joined(value.SS, length)}}`, length);
  if ("NS" in value) return clipped(`{${joined(value.NS, length)}}`, length);
  if ("BS" in value) return `{${value.BS.length} binaries}`;
  if ("L" in value) {
    const shown = value.L.slice(0, 8).map((each) => inner(each));
    return clipped(`[${shown.join(", ")}${value.L.length > 8 ? ", …" : ""}]`, length);
  }
  const keys = names(value.M);
  const shown = keys.slice(0, 8).map((name) => `${clipped(name, 40)}: ${inner(value.M[name]!)}`);
  return clipped(`{${shown.join(", ")}${keys.length > 8 ? ", …" : ""}}`, length);
}

function inner(value: AttributeValue): string {
  if ("L" in value) return value.L.length ? `[${value.L.length}]` : "[]";
  if ("M" in value) return names(value.M).length ? `{${names(value.M).length}}` : "{}";
  return summary(value, 40);
}

function joined(texts: string[], length: number): string {
  return texts.slice(0, Math.ceil(length / 2)).join(", ");
}

export function clipped(text: string, length: number): string {
  return visible(text.length > length ? `${text.slice(0, length - 1)}…` : text);
}

const SHORT: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

/** Control characters and characters that turn the direction of text, as JSON would escape them. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, escaped);
}

/** The same, but lines stay lines. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

function escaped(character: string): string {
  return SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The number of bytes of a base64 text. */
export function bytesOf(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

/** The first bytes of a base64 text, as hexadecimal pairs. */
export function hex(base64: string, most: number): string {
  const bytes = atob(base64.slice(0, Math.ceil(most / 3) * 4)).slice(0, most);
  const pairs = [...bytes].map((each) => each.charCodeAt(0).toString(16).padStart(2, "0"));
  return pairs.join(" ") + (bytesOf(base64) > most ? " …" : "");
}

/** Whether some JSON is a value: a map with one type and the content of that type. */
export function isAttributeValue(json: unknown): json is AttributeValue {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return false;
  const entries = Object.entries(json);
  if (entries.length !== 1) return false;
  const [type, content] = entries[0]!;
  switch (type) {
    case "S":
    case "N":
    case "B":
      return typeof content === "string";
    case "BOOL":
    case "NULL":
      return typeof content === "boolean";
    case "SS":
    case "NS":
    case "BS":
      return Array.isArray(content) && content.length > 0 && content.every((each) => typeof each === "string");
    case "L":
      return Array.isArray(content) && content.every(isAttributeValue);
    case "M":
      return isItem(content);
    default:
      return false;
  }
}

export function isItem(json: unknown): json is Item {
  return typeof json === "object" && json !== null && !Array.isArray(json) && Object.values(json).every(isAttributeValue);
}
