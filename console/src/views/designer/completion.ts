// What can follow the word before the cursor: Sortkey's names, types, and the fields of the class that one writes.

const WORDS = [
  "sk.Item",
  "sk.Key",
  "sk.Index",
  "sk.Shards",
  "sk.Table",
  "sk.version",
  "str",
  "int",
  "Decimal",
  "bool",
  "bytes",
  "datetime",
  "date",
  "list[str]",
  "set[str]",
  "dict[str, str]",
  "class",
  "table=",
  "shards=",
  "ttl=",
];
const MOST = 8;

export interface Completion {
  /** Where the word begins that is completed. */
  start: number;
  choices: string[];
}

export function completions(source: string, cursor: number): Completion {
  const before = source.slice(0, cursor);
  const inTemplate = /["'][^"'\n]*\{([A-Za-z_0-9]*)$/.exec(before);
  const word = inTemplate ? inTemplate[1]! : (/[A-Za-z_.]+$/.exec(before)?.[0] ?? "");
  const known = inTemplate ? fieldsBefore(before).map((each) => `${each}}`) : WORDS;
  const choices = inTemplate || word !== "" ? known.filter((each) => each.startsWith(word) && each !== word) : [];
  return { start: cursor - word.length, choices: choices.slice(0, MOST) };
}

/** The fields of the class in which the cursor is. */
function fieldsBefore(before: string): string[] {
  const body = before.slice(before.lastIndexOf("\nclass ") + 1);
  return [...body.matchAll(/^\s+([a-z_][a-z_0-9]*)\s*:/gim)].map((each) => each[1]!);
}
