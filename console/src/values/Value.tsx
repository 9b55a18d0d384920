// An attribute value as its reader wants it: its type at its side, maps and lists to open, long texts to unfold.
import { useState } from "preact/hooks";
import {
  type AttributeValue,
  bytesOf,
  contentOf,
  hex,
  type Item,
  names,
  summary,
  TYPE_WORDS,
  typeOf,
  visible,
  visibleLines,
} from "./attribute.ts";
import { bytes, count } from "../numbers.ts";

const LONG = 240;
/** Elements that are shown at once. */
const MANY = 100;

export function ItemValue({ item, keys = [] }: { item: Item; keys?: readonly string[] }) {
  const order = [...keys.filter((name) => name in item), ...names(item).filter((name) => !keys.includes(name))];
  return (
    <dl class="item">
      {order.map((name) => (
        <Entry key={name} name={name} value={item[name]!} marked={keys.includes(name)} />
      ))}
    </dl>
  );
}

function Entry({ name, value, marked }: { name: string; value: AttributeValue; marked?: boolean }) {
  return (
    <div class="entry">
      <dt class={marked ? "key" : ""}>
        <span class="name" title={name.length > 60 ? undefined : name}>
          {visible(name.length > 120 ? `${name.slice(0, 119)}…` : name)}
        </span>
        <abbr class="type" title={TYPE_WORDS[typeOf(value)]}>
          {typeOf(value)}
        </abbr>
      </dt>
      <dd>
        <Value value={value} label={name} />
      </dd>
    </div>
  );
}

export function Value({ value, label }: { value: AttributeValue; label: string }) {
  if ("M" in value || "L" in value) return <Nested value={value} label={label} />;
  if ("S" in value) return <Text text={value.S} />;
  if ("B" in value) return <Binary base64={value.B} />;
  if ("SS" in value || "NS" in value || "BS" in value) {
    const elements = contentOf(value) as string[];
    return (
      <ul class="set">
        {elements.slice(0, MANY).map((each) => (
          <li key={each}>{"BS" in value ? <Binary base64={each} /> : <Text text={each} />}</li>
        ))}
        {elements.length > MANY && <li class="muted">and {count(elements.length - MANY)} more</li>}
      </ul>
    );
  }
  return <code class={`plain ${typeOf(value)}`}>{summary(value)}</code>;
}

function Nested({ value, label }: { value: AttributeValue; label: string }) {
  const size = "M" in value ? names(value.M).length : "L" in value ? value.L.length : 0;
  const [open, setOpen] = useState(false);
  const what = "M" in value ? (size === 1 ? "entry" : "entries") : size === 1 ? "element" : "elements";
  if (size === 0) return <code class="plain">{"M" in value ? "{}" : "[]"}</code>;
  return (
    <div class="nested">
      <button
        type="button"
        class="fold"
        aria-expanded={open}
        aria-label={`${visible(label.slice(0, 60))}: ${size} ${what}`}
        onClick={() => setOpen(!open)}
      >
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> {count(size)} {what}
        {!open && <code class="preview">{summary(value, 90)}</code>}
      </button>
      {open && "M" in value && <ItemValue item={value.M} />}
      {open && "L" in value && <List elements={value.L} />}
    </div>
  );
}

function List({ elements }: { elements: AttributeValue[] }) {
  const [shown, setShown] = useState(MANY);
  return (
    <dl class="item">
      {elements.slice(0, shown).map((each, index) => (
        <Entry key={index} name={String(index)} value={each} />
      ))}
      {elements.length > shown && (
        <div>
          <button type="button" class="quiet" onClick={() => setShown(shown + 10 * MANY)}>
            Show more of {count(elements.length)}
          </button>
        </div>
      )}
    </dl>
  );
}

function Text({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  if (text === "") return <span class="muted">empty text</span>;
  const long = text.length > LONG;
  return (
    <>
      <code class="plain">{visibleLines(long && !whole ? `${text.slice(0, LONG)}…` : text)}</code>
      {long && (
        <button type="button" class="quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Less" : `All ${count(text.length)} characters`}
        </button>
      )}
    </>
  );
}

function Binary({ base64 }: { base64: string }) {
  const [whole, setWhole] = useState(false);
  const size = bytesOf(base64);
  return (
    <>
      <code class="plain hex">{hex(base64, whole ? 4096 : 32)}</code> <span class="muted">{bytes(size)}</span>
      {size > 32 && (
        <button type="button" class="quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Less" : size > 4096 ? "The first 4,096 bytes" : "All"}
        </button>
      )}
    </>
  );
}
