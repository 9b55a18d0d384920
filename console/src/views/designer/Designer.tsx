// Item classes as one writes them: their keys, collections and requests, and the questions that no key answers.
import { signal } from "@preact/signals";
import { useLoaded } from "../../api/loaded.ts";
import { api } from "../../api/requests.ts";
import type { Design } from "../../api/types.ts";
import { dollars, ratio } from "../../numbers.ts";
import { CopyButton, Empty, Field, Page, Panel, Shown, Sign, Table } from "../../shell/parts.tsx";
import { clipped, summary } from "../../values/attribute.ts";
import { useSettled } from "../data/settled.ts";
import { Source } from "./Source.tsx";

const EXAMPLE = `from datetime import datetime
from decimal import Decimal

import sortkey as sk


class Customer(sk.Item, table="shop"):
    customer: str
    name: str
    city: str

    key = sk.Key("CUSTOMER#{customer}", "PROFILE")


class Order(sk.Item, table="shop"):
    customer: str
    order: str
    placed: datetime
    status: str
    total: Decimal

    key = sk.Key("CUSTOMER#{customer}", "ORDER#{placed}#{order}")
    by_status = sk.Index("gsi1", "STATUS#{status}", "{placed}")
`;

const written = signal({ source: EXAMPLE, rows: "50", rowBytes: "512", perSecond: "10" });

export function Designer() {
  const { source, rows, rowBytes, perSecond } = written.value;
  const set = (what: Partial<typeof written.value>) => (written.value = { ...written.value, ...what });
  const body = { source, ...numbers({ rows, rowBytes, perSecond }) };
  const settled = useSettled(JSON.stringify(body), 400);
  const design = useLoaded(() => api<Design>("design", JSON.parse(settled) as object), [settled], undefined, true);
  const shown = design.value;
  return (
    <Page title="Key designer" hint="Write item classes, and see their keys at work. Nothing of the text is executed, and nothing is stored.">
      <div class="panels designer">
        <Panel title="Item classes" tools={<CopyButton text={() => source}>Copy</CopyButton>}>
          <Source value={source} onInput={(text) => set({ source: text })} />
          <div class="fields">
            {(
              [
                ["rows", "Rows a page"],
                ["rowBytes", "Bytes a row"],
                ["perSecond", "Requests a second"],
              ] as const
            ).map(([name, label]) => (
              <Field key={name} label={label}>
                {(id) => <input id={id} type="number" min={1} value={written.value[name]} onInput={(event) => set({ [name]: event.currentTarget.value })} />}
              </Field>
            ))}
          </div>
        </Panel>
        <div class="designed">
          {design.error && design.error.code !== "away" && <Shown loaded={design}>{() => null}</Shown>}
          {shown ? <Result design={shown} /> : design.loading && <p class="loading">Loading…</p>}
        </div>
      </div>
    </Page>
  );
}

function numbers(texts: Record<string, string>): Record<string, number> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Number(text)]).filter(([, value]) => (value as number) > 0));
}

function Result({ design }: { design: Design }) {
  return (
    <>
      {design.problems.length > 0 && (
        <Panel title="Problems">
          <ul class="findings" role="status">
            {design.problems.map((each) => (
              <li>
                <Sign tone="bad" />
                <span class="wrap">
                  line {each.line}: {each.message}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {design.classes.length === 0 && design.problems.length === 0 && <Empty>No class of sk.Item yet.</Empty>}
      {design.paths.length > 0 && (
        <Panel title="Access paths">
          <Table
            label="Access paths and their cost"
            heads={[{ title: "Path" }, { title: "Request" }, { title: "Units", align: "right" }, { title: "$ a million", align: "right" }, { title: "$ a month", align: "right" }]}
          >
            {design.paths.map((each) => (
              <tr>
                <td class="mono wrap">{clipped(each.path, 300)}</td>
                <td>{each.operation}</td>
                <td class="right">{ratio(each.units)}</td>
                <td class="right">{dollars(each.dollarsPerMillion)}</td>
                <td class="right">{dollars(each.dollarsPerMonth)}</td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      {design.questions.length > 0 && (
        <Panel title="Questions">
          <ul class="findings">
            {[...design.questions].sort((left, right) => Number(left.answered) - Number(right.answered)).map((each) => (
              <li>
                <Sign tone={each.answered ? "good" : "warn"} />
                <span class="wrap">
                  {each.text} {each.answered ? <code class="muted">{each.by}</code> : "No key answers it. This one would:"}
                </span>
                {each.suggestion && (
                  <span class="advice wrap">
                    <code>{each.suggestion}</code> <CopyButton text={() => each.suggestion!}>Copy</CopyButton>
                  </span>
                )}
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {collectionsOf(design).map((collection) => (
          <Panel
            key={`${collection.table} ${collection.partition}`}
            title={<span class="mono">{clipped(collection.partition, 120)}</span>}
            tools={<span class="muted">an item collection of {collection.table}</span>}
          >
            <Table label={`Rows of ${collection.partition}`} heads={[{ title: "Sort key" }, { title: "Class" }, { title: "Attributes" }]}>
              {collection.rows.map((row) => (
                <tr>
                  <td class="mono wrap">{clipped(row.sort, 160)}</td>
                  <td>{row.class}</td>
                  <td>
                    <ul class="chips">
                      {Object.entries(row.attributes).map(([name, value]) => (
                        <li class="chip">
                          {clipped(name, 40)} <strong>{summary(value, 60)}</strong>
                        </li>
                      ))}
                    </ul>
                  </td>
                </tr>
              ))}
            </Table>
          </Panel>
      ))}
    </>
  );
}

type Collection = Design["classes"][number]["collections"][number] & { table: string };

/** Each partition once, with the rows of all classes that are in it, in the order of their sort keys. */
function collectionsOf(design: Design): Collection[] {
  const found = new Map<string, Collection>();
  for (const { table, collections } of design.classes) {
    for (const { partition, rows } of collections) {
      const key = `${table} ${partition}`;
      const before = found.get(key)?.rows ?? [];
      const known = new Set(before.map((each) => each.sort));
      const all = [...before, ...rows.filter((each) => !known.has(each.sort))];
      found.set(key, { table, partition, rows: all.sort((left, right) => (left.sort < right.sort ? -1 : 1)) });
    }
  }
  return [...found.values()];
}
