// The few parts that every view is made of.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Loaded } from "../api/loaded.ts";
import type { RequestError } from "../api/requests.ts";
import { count } from "../numbers.ts";
import { about } from "./session.ts";

export function Page({ title, hint, tools, children }: {
  title: string;
  hint?: ComponentChildren;
  tools?: ComponentChildren;
  children: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · Sortkey`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <h1>{title}</h1>
        {hint && <p class="hint">{hint}</p>}
        {tools && <div class="tools">{tools}</div>}
      </header>
      {children}
    </>
  );
}

export function Panel({ title, tools, children }: {
  title: ComponentChildren;
  tools?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {tools && <div class="tools">{tools}</div>}
      </header>
      {children}
    </section>
  );
}

export function Figure({ label, value, note, tone }: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  tone?: "warn" | "bad" | undefined;
}) {
  return (
    <div class={`figure ${tone ?? ""}`}>
      <dt>{label}</dt>
      <dd>
        <span class="number">{value}</span>
        {note && <span class="note">{note}</span>}
      </dd>
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Problem({ error }: { error: RequestError | Error }) {
  return (
    <p class="problem" role="alert">
      <Sign tone="bad" /> {error.message}
    </p>
  );
}

/** Where several processes serve, and each knows its own numbers alone. */
export function OneProcess() {
  const { workers } = about.value!.process;
  if (workers < 2) return null;
  return (
    <p class="notice">
      {count(workers)} processes serve this address, and each knows its own requests alone. These are those of the process that this page is connected to; a reload may find another.
    </p>
  );
}

/** A sign that is read without colour. */
export function Sign({ tone }: { tone: "good" | "warn" | "bad" }) {
  const [mark, word] = { good: ["●", "good"], warn: ["▲", "warning"], bad: ["■", "problem"] }[tone] as [string, string];
  return (
    <span class={`sign ${tone}`}>
      <span aria-hidden="true">{mark}</span>
      <span class="visually-hidden">{word}: </span>
    </span>
  );
}

/** What is loaded, or what stands in its place. */
export function Shown<Answer>({ loaded, busy = "Loading…", children }: {
  loaded: Loaded<Answer>;
  busy?: string;
  children: (value: Answer) => ComponentChildren;
}) {
  return (
    <>
      {loaded.error && loaded.error.code !== "away" && <Problem error={loaded.error} />}
      {loaded.value !== undefined ? children(loaded.value) : loaded.loading && <p class="loading">{busy}</p>}
    </>
  );
}

export interface Head {
  title: string;
  align?: "right";
  hint?: string;
}

/** A small table, which scrolls by itself where it is too wide. */
export function Table({ label, heads, children }: { label: string; heads: Head[]; children: ComponentChildren }) {
  return (
    <div class="table-frame" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {heads.map((each) =>
              each.title === "" ? (
                <td />
              ) : (
                <th scope="col" class={each.align} title={each.hint}>
                  {each.title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export interface TabChoice<Key extends string> {
  key: Key;
  title: ComponentChildren;
}

export function Tabs<Key extends string>({ label, choices, chosen, onChoose }: {
  label: string;
  choices: readonly TabChoice<Key>[];
  chosen: Key;
  onChoose: (key: Key) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const index = choices.findIndex((each) => each.key === chosen);
    const next = (index + step + choices.length) % choices.length;
    onChoose(choices[next]!.key);
    list.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    <div role="tablist" aria-label={label} class="tabs" ref={list} onKeyDown={move}>
      {choices.map((each) => (
        <button
          type="button"
          role="tab"
          aria-selected={each.key === chosen}
          tabIndex={each.key === chosen ? 0 : -1}
          onClick={() => onChoose(each.key)}
        >
          {each.title}
        </button>
      ))}
    </div>
  );
}

export function Field({ label, hint, children }: {
  label: ComponentChildren;
  hint?: ComponentChildren;
  children: (id: string) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {label} {hint && <span class="muted">{hint}</span>}
      </label>
      {children(id)}
    </div>
  );
}

/** A text that counts once it is entered. A view that refreshes meanwhile leaves alone what is being typed. */
export function Entry({ id, value, onEnter }: { id: string; value: string; onEnter: (text: string) => void }) {
  const [typed, setTyped] = useState<string>();
  return (
    <input
      id={id}
      value={typed ?? value}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => {
        setTyped(undefined);
        if (event.currentTarget.value) onEnter(event.currentTarget.value);
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}

/** A dialog over the page; Escape closes it, and the focus returns. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      {children}
    </dialog>
  );
}

export function CopyButton({ text, children }: { text: () => string; children: ComponentChildren }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (said === "") return undefined;
    const timer = setTimeout(() => setSaid(""), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = () => {
    // Browsers have no clipboard for pages that come over plain HTTP from another machine.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (!clipboard) return setSaid("The browser allows it over HTTPS only: select the text");
    clipboard.writeText(text()).then(
      () => setSaid("Copied"),
      () => setSaid("The browser does not allow it"),
    );
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      {children} <span role="status">{said}</span>
    </button>
  );
}
