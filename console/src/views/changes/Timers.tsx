// What is due, when, and what it will do then.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { api } from "../../api/requests.ts";
import type { TimerItems, TimersDue } from "../../api/types.ts";
import { count, plural } from "../../numbers.ts";
import { Dialog, Empty, Panel, Shown, Sign, Table } from "../../shell/parts.tsx";
import { away, clock } from "../../times.ts";
import { clipped } from "../../values/attribute.ts";
import { NOTHING } from "../data/columns.tsx";

type Timer = TimersDue["timers"][number];

export function Timers() {
  const timers = useLoaded(() => api<TimersDue>("timers"), [], 2000);
  const [open, setOpen] = useState<Timer>();
  return (
    <>
      <Shown loaded={timers}>
        {(value) =>
          value.timers.length === 0 ? (
            <Empty>Nothing is due. A scheduled change appears here with its time, until it has taken effect.</Empty>
          ) : (
            <Panel title={`${plural(value.timers.length, "timer")}${value.more ? " and more" : ""}`}>
              <Table label="Timers" heads={[{ title: "At" }, { title: "" }, { title: "Schedule" }, { title: "Of" }, { title: "" }]}>
                {value.timers.map((each) => (
                  <tr>
                    <td class="mono">{clock(new Date(each.at))}</td>
                    <td>
                      {each.overdue && <Sign tone="warn" />} {away(new Date(each.at))}
                    </td>
                    <td>
                      {each.schedule} <span class="muted">{each.service}</span>
                    </td>
                    <td class="mono wrap">{groupOf(each)}</td>
                    <td class="right">
                      <button type="button" class="quiet" onClick={() => setOpen(each)}>
                        What it is for
                      </button>
                    </td>
                  </tr>
                ))}
              </Table>
            </Panel>
          )
        }
      </Shown>
      {open && <Items timer={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function Items({ timer, onClose }: { timer: Timer; onClose: () => void }) {
  const { service, schedule, occurrence, at } = timer;
  const items = useLoaded(() => api<TimerItems>("timers/items", { service, schedule, occurrence, at }), [timer]);
  return (
    <Dialog title={`${schedule} of ${groupOf(timer)}`} onClose={onClose}>
      <div>
        <p class="lead">
          At {clock(new Date(at))}, {away(new Date(at))}, its handler is called for the rows that ask for it. These do now:
        </p>
        <Shown loaded={items}>
          {(value) =>
            value.items.length === 0 ? (
              <Empty>No row asks for it any more, so nothing will happen.</Empty>
            ) : (
              <>
                <Rows items={value.items} />
                {value.more && <p class="muted">The first {count(value.items.length)} of them.</p>}
              </>
            )
          }
        </Shown>
      </div>
    </Dialog>
  );
}

/** With the fields that one of them has. */
function Rows({ items }: { items: TimerItems["items"] }) {
  const has = (name: string) => items.some(({ fields }) => (fields[name] ?? NOTHING) !== NOTHING);
  const names = [...new Set(items.flatMap(({ fields }) => Object.keys(fields)))].filter(has);
  return (
    <Table label="Rows that ask for it" heads={names.map((title) => ({ title }))}>
      {items.map(({ fields }) => (
        <tr>
          {names.map((name) => (
            <td class="mono">{clipped(fields[name] ?? NOTHING, 60)}</td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

function groupOf({ group }: Timer): string {
  return Object.entries(group)
    .map(([name, value]) => `${name}=${clipped(String(value), 60)}`)
    .join(" ");
}
