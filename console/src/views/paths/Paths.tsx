// What each question costs: the slow and wasteful ones first, each with the reason and the key that would be better.
import { useState } from "preact/hooks";
import { paths, problems, useTopic } from "../../api/live.ts";
import type { PathUse } from "../../api/types.ts";
import { count, dollars, ratio } from "../../numbers.ts";
import { Empty, Figure, OneProcess, Page, Panel, Sign, Table, Tabs } from "../../shell/parts.tsx";
import { clock, seconds } from "../../times.ts";

const KINDS: Record<PathUse["kind"], [tone: "good" | "warn" | "bad", word: string]> = {
  ok: ["good", "fine"],
  wasteful: ["warn", "reads more than it returns"],
  scan: ["warn", "scan"],
  slow: ["warn", "slow"],
  unreadable: ["bad", "rows that cannot be read"],
};

const ORDERS = {
  advice: { title: "Worst first", by: undefined },
  cost: { title: "Dollars a month", by: (use: PathUse) => use.dollarsPerMonth },
  calls: { title: "Calls", by: (use: PathUse) => use.calls },
  amplification: { title: "Read amplification", by: (use: PathUse) => use.amplification },
  time: { title: "Time a call", by: (use: PathUse) => use.secondsPerCall },
} as const;
type Order = keyof typeof ORDERS;

export function Paths() {
  useTopic("paths");
  const [order, setOrder] = useState<Order>("advice");
  const [service, setService] = useState("");
  const now = paths.value;
  const services = [...new Set(now?.paths.map((each) => each.service).filter((each) => each !== null) ?? [])].sort();
  const by = ORDERS[order].by;
  const chosen = now?.paths.filter((each) => service === "" || each.service === service) ?? [];
  const shown = by ? [...chosen].sort((left, right) => by(right) - by(left)) : chosen;
  const advised = chosen.filter((each) => each.kind !== "ok");
  const month = chosen.reduce((all, each) => all + each.dollarsPerMonth, 0);
  return (
    <Page
      title="Access paths"
      hint="Every question that this process has asked: what it read, what it returned, and what it would cost a month on DynamoDB at the rate of the last minute."
      tools={
        services.length > 1 && (
          <select aria-label="Service" value={service} onChange={(event) => setService(event.currentTarget.value)}>
            <option value="">All services</option>
            {services.map((each) => (
              <option>{each}</option>
            ))}
          </select>
        )
      }
    >
      <OneProcess />
      {problems.value.paths && <p class="notice">{problems.value.paths}</p>}
      {!now ? (
        <p class="loading">Loading…</p>
      ) : now.paths.length === 0 ? (
        <Empty>No requests yet. Each access path appears here with its first call.</Empty>
      ) : (
        <>
          <dl class="figures">
            <Figure label="Paths" value={count(chosen.length)} note={`since ${clock(new Date(now.since))}`} />
            <Figure label="Could be better" value={count(advised.length)} tone={advised.length > 0 ? "warn" : undefined} note={advised.length > 0 ? "with the reason below" : "each reads what it returns"} />
            <Figure label="Units" value={`${ratio(chosen.reduce((all, each) => all + each.unitsPerSecond, 0))}/s`} note={`over ${seconds(now.seconds)}`} />
            <Figure label="On DynamoDB" value={dollars(month)} note="a month at this rate" />
          </dl>
          {order === "advice" && advised.length > 0 && (
            <Panel title="Slow or wasteful">
              <ul class="findings">
                {advised.map((each) => (
                  <li>
                    <Sign tone={KINDS[each.kind][0]} />
                    <span class="wrap">
                      <strong>{each.path}</strong> <span class="badge">{KINDS[each.kind][1]}</span> {each.reason}
                    </span>
                    {each.better && <span class="advice wrap">{each.better}</span>}
                  </li>
                ))}
              </ul>
            </Panel>
          )}
          <Tabs
            label="Order"
            choices={(Object.keys(ORDERS) as Order[]).map((key) => ({ key, title: ORDERS[key].title }))}
            chosen={order}
            onChoose={setOrder}
          />
          <div class="panel">
            <Table
              label="Access paths"
              heads={[
                { title: "Path" },
                { title: "Calls", align: "right" },
                { title: "Calls/s", align: "right", hint: "In the last minute" },
                { title: "Rows read", align: "right" },
                { title: "Returned", align: "right" },
                { title: "Read ÷ returned", align: "right", hint: "Read amplification" },
                { title: "Units R / W", align: "right", hint: "Read and write units since the start" },
                { title: "A call", align: "right" },
                { title: "$ a month", align: "right", hint: "At the rate of the last minute" },
              ]}
            >
              {shown.map((each) => (
                <tr class={each.callsPerSecond === 0 ? "quiet-row" : ""}>
                  <td>
                    <Sign tone={KINDS[each.kind][0]} /> {each.path} <span class="muted">{each.service}</span>
                    {each.request && <code class="sub wrap">{each.index ? `${each.index}: ` : ""}{each.request}</code>}
                    {each.unrecognised + each.undecodable > 0 && (
                      <span class="sub">
                        {count(each.unrecognised)} rows of no class, {count(each.undecodable)} that cannot be read
                      </span>
                    )}
                  </td>
                  <td class="right">{count(each.calls)}</td>
                  <td class="right">{ratio(each.callsPerSecond)}</td>
                  <td class="right">{count(each.rowsRead)}</td>
                  <td class="right">{count(each.rowsReturned)}</td>
                  <td class="right">{each.rowsRead === 0 ? "–" : ratio(each.amplification)}</td>
                  <td class="right">
                    {ratio(each.readUnits)} / {ratio(each.writeUnits)}
                  </td>
                  <td class="right">{seconds(each.secondsPerCall)}</td>
                  <td class="right">{dollars(each.dollarsPerMonth)}</td>
                </tr>
              ))}
            </Table>
          </div>
        </>
      )}
    </Page>
  );
}
