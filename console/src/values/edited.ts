// A value as text that a person edits, and back. Sets have one element a line; lists and maps are DynamoDB JSON.
import { type AttributeValue, contentOf, isAttributeValue, isItem, type TypeName, typeOf } from "./attribute.ts";

export function textOf(value: AttributeValue): string {
  const content = contentOf(value);
  switch (typeOf(value)) {
    case "SS":
    case "NS":
    case "BS":
      return (content as string[]).join("\n");
    case "L":
    case "M":
      return JSON.stringify(content, null, 2);
    default:
      return String(content);
  }
}

export class EditError extends Error {}

/** Raises EditError, which says what is wrong. */
export function valueOf(type: TypeName, text: string): AttributeValue {
  switch (type) {
    case "S":
      return { S: text };
    case "N":
      return { N: number(text) };
    case "B":
      return { B: base64(text) };
    case "BOOL":
      if (text !== "true" && text !== "false") throw new EditError("A boolean is true or false.");
      return { BOOL: text === "true" };
    case "NULL":
      return { NULL: true };
    case "SS":
      return { SS: elements(text) };
    case "NS":
      return { NS: elements(text).map(number) };
    case "BS":
      return { BS: elements(text).map(base64) };
    case "L": {
      const value = { L: parsed(text) };
      if (!isAttributeValue(value)) throw new EditError('A list is DynamoDB JSON, such as [{"S": "a"}, {"N": "1"}].');
      return value;
    }
    case "M": {
      const content = parsed(text);
      if (!isItem(content)) throw new EditError('A map is DynamoDB JSON, such as {"name": {"S": "a"}}.');
      return { M: content };
    }
  }
}

function number(text: string): string {
  const trimmed = text.trim();
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed)) throw new EditError(`“${trimmed}” is no number.`);
  return trimmed;
}

function base64(text: string): string {
  const trimmed = text.trim();
  if (!/^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(trimmed)) {
    throw new EditError("Binary is written as base64.");
  }
  return trimmed;
}

function elements(text: string): string[] {
  const lines = text.split("\n").filter((each) => each !== "");
  if (lines.length === 0) throw new EditError("A set has at least one element.");
  if (new Set(lines).size !== lines.length) throw new EditError("A set has each element once.");
  return lines;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new EditError(`Not JSON: ${(error as Error).message}`);
  }
}
