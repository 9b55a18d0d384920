// What is due, and when.
import { useLoaded } from "../../api/loaded.ts";
import { api } from "../../api/requests.ts";
import type { TimersDue } from "../../api/types.ts";
import { plural } from "../../numbers.ts";
import { Empty, Panel, Shown, Sign, Table } from "../../shell/parts.tsx";
import { away, clock } from "../../times.ts";
import { clipped } from "../../values/attribute.ts";

export function Timers() {
  const timers = useLoaded(() => api<TimersDue>("timers"), [], 2000);
  return (
    <Shown loaded={timers}>
      {(value) =>
        value.timers.length === 0 ? (
          <Empty>Nothing is due. A scheduled change appears here with its time, until it has taken effect.</Empty>
        ) : (
          <Panel title={`${plural(value.timers.length, "timer")}${value.more ? " and more" : ""}`}>
            <Table label="Timers" heads={[{ title: "At" }, { title: "" }, { title: "Schedule" }, { title: "Of" }]}>
              {value.timers.map((each) => (
                <tr>
                  <td class="mono">{clock(new Date(each.at))}</td>
                  <td>
                    {each.overdue && <Sign tone="warn" />} {away(new Date(each.at))}
                  </td>
                  <td>
                    {each.schedule} <span class="muted">{each.service}</span>
                  </td>
                  <td class="mono wrap">{Object.entries(each.group).map(([name, value]) => `${name}=${clipped(String(value), 60)}`).join(" ")}</td>
                </tr>
              ))}
            </Table>
          </Panel>
        )
      }
    </Shown>
  );
}
