// An item as a form: a line for each attribute, with its type. Or all of it as DynamoDB JSON.
import { useState } from "preact/hooks";
import type { KeyAttribute } from "../../api/types.ts";
import { Problem } from "../../shell/parts.tsx";
import { type Item, isItem, names, TYPE_NAMES, TYPE_WORDS, type TypeName, typeOf, visible } from "../../values/attribute.ts";
import { EditError, textOf, valueOf } from "../../values/edited.ts";

interface Line {
  name: string;
  type: TypeName;
  text: string;
  isKey: boolean;
}

export function Editor({ item, keys, isNew, busy, onReview }: {
  item: Item;
  keys: KeyAttribute[];
  isNew: boolean;
  busy: boolean;
  onReview: (item: Item) => void;
}) {
  const [lines, setLines] = useState(() => linesOf(item, keys));
  const [json, setJson] = useState<string>();
  const [error, setError] = useState<Error>();
  const set = (place: number, what: Partial<Line>) => setLines(lines.map((each, index) => (index === place ? { ...each, ...what } : each)));
  const attempt = (act: () => void) => {
    try {
      act();
      setError(undefined);
    } catch (raised) {
      if (!(raised instanceof EditError)) throw raised;
      setError(raised);
    }
  };
  const edited = () => (json === undefined ? itemOf(lines) : parsedItem(json));
  const turn = () => attempt(() => (json === undefined ? setJson(JSON.stringify(itemOf(lines), null, 2)) : (setLines(linesOf(parsedItem(json), keys)), setJson(undefined))));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        attempt(() => onReview(edited()));
      }}
    >
      {json === undefined ? (
        <>
          {lines.map((line, place) => {
            const fixed = line.isKey && !isNew;
            const label = visible(line.name.slice(0, 60)) || "new attribute";
            return (
              <div class="edit-row">
                <input aria-label="Name" value={line.name} readOnly={line.isKey} spellcheck={false} onInput={(event) => set(place, { name: event.currentTarget.value })} />
                <select aria-label={`Type of ${label}`} value={line.type} disabled={line.isKey} onChange={(event) => set(place, { type: event.currentTarget.value as TypeName })}>
                  {TYPE_NAMES.map((each) => (
                    <option value={each} title={TYPE_WORDS[each]}>
                      {each}
                    </option>
                  ))}
                </select>
                <div>
                  <Input line={line} label={`Value of ${label}`} readOnly={fixed} onInput={(text) => set(place, { text })} />
                  {HINTS[line.type] && <p class="muted">{HINTS[line.type]}</p>}
                </div>
                {line.isKey ? (
                  <span class="badge">key</span>
                ) : (
                  <button type="button" class="quiet" aria-label={`Remove ${label}`} onClick={() => setLines(lines.filter((_, index) => index !== place))}>
                    Remove
                  </button>
                )}
              </div>
            );
          })}
          <button type="button" class="quiet" onClick={() => setLines([...lines, { name: "", type: "S", text: "", isKey: false }])}>
            Add an attribute
          </button>
        </>
      ) : (
        <textarea aria-label="The item as DynamoDB JSON" rows={16} spellcheck={false} value={json} onInput={(event) => setJson(event.currentTarget.value)} />
      )}
      {error && <Problem error={error} />}
      <div class="actions">
        <button type="button" class="quiet" onClick={turn}>
          {json === undefined ? "Edit as DynamoDB JSON" : "Edit as a form"}
        </button>
        <button type="submit" class="main" disabled={busy}>
          Review the change
        </button>
      </div>
    </form>
  );
}

/** How a value is written that is no plain text. */
const HINTS: Partial<Record<TypeName, string>> = {
  B: "base64",
  SS: "one text a line",
  NS: "one number a line",
  BS: "one base64 a line",
  L: "DynamoDB JSON",
  M: "DynamoDB JSON",
};

function Input({ line, label, readOnly, onInput }: { line: Line; label: string; readOnly: boolean; onInput: (text: string) => void }) {
  if (line.type === "BOOL") {
    return (
      <select aria-label={label} value={line.text === "true" ? "true" : "false"} onChange={(event) => onInput(event.currentTarget.value)}>
        <option>true</option>
        <option>false</option>
      </select>
    );
  }
  if (line.type === "NULL") return <span class="muted">null</span>;
  const rows = Math.min(10, line.text.split("\n").length);
  const many = rows > 1 || line.text.length > 80 || ["M", "L", "SS", "NS", "BS"].includes(line.type);
  return many ? (
    <textarea aria-label={label} rows={Math.max(2, rows)} readOnly={readOnly} spellcheck={false} value={line.text} onInput={(event) => onInput(event.currentTarget.value)} />
  ) : (
    <input aria-label={label} value={line.text} readOnly={readOnly} spellcheck={false} onInput={(event) => onInput(event.currentTarget.value)} />
  );
}

function linesOf(item: Item, keys: KeyAttribute[]): Line[] {
  const first = keys.map(({ name }) => name);
  const order = [...first.filter((name) => name in item), ...names(item).filter((name) => !first.includes(name))];
  return order.map((name) => ({ name, type: typeOf(item[name]!), text: textOf(item[name]!), isKey: first.includes(name) }));
}

/** Raises EditError. */
function itemOf(lines: Line[]): Item {
  const item: Item = {};
  for (const { name, type, text } of lines) {
    if (name === "") throw new EditError("Every attribute has a name.");
    if (name in item) throw new EditError(`“${visible(name)}” is there twice.`);
    try {
      // Booleans begin as false when a text becomes one.
      item[name] = valueOf(type, type === "BOOL" && text !== "true" ? "false" : text);
    } catch (error) {
      throw error instanceof EditError ? new EditError(`${visible(name)}: ${error.message}`) : error;
    }
  }
  return item;
}

/** Raises EditError. */
function parsedItem(json: string): Item {
  let item: unknown;
  try {
    item = JSON.parse(json);
  } catch (error) {
    throw new EditError(`Not JSON: ${(error as Error).message}`);
  }
  if (!isItem(item)) throw new EditError('An item is DynamoDB JSON, such as {"name": {"S": "a"}, "count": {"N": "1"}}.');
  return item;
}
