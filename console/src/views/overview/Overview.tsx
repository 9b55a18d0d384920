// How the server is: what is wrong first, then rates, the store, feeds, timers and loads.
import { useEffect, useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { overview, problems, useTopic } from "../../api/live.ts";
import { api } from "../../api/requests.ts";
import type { Finding, Findings, Overview as Now, OverviewHistory } from "../../api/types.ts";
import { Lines } from "../../charts/Lines.tsx";
import { bytes, count, dollars, plural, ratio } from "../../numbers.ts";
import { Empty, Figure, Page, Panel, Problem, Sign, Table } from "../../shell/parts.tsx";
import { away, clock, seconds } from "../../times.ts";
import { tab } from "../changes/Changes.tsx";

type Sample = OverviewHistory["samples"][number];
/** Ten minutes. */
const SAMPLES = 600;

export function Overview() {
  useTopic("overview");
  const now = overview.value;
  return (
    <Page title="Overview">
      {problems.value.overview && <p class="notice">{problems.value.overview}</p>}
      {now ? <Shown now={now} /> : <p class="loading">Loading…</p>}
    </Page>
  );
}

function Shown({ now }: { now: Now }) {
  const sum = (of: (service: Now["services"][number]) => number) => now.services.reduce((all, each) => all + of(each), 0);
  const errors = sum((each) => each.errorsPerSecond);
  const behind = now.feeds.reduce((worst, each) => Math.max(worst, each.lagSeconds ?? 0), 0);
  const blocked = now.feeds.filter((each) => each.blocked !== null).length;
  const unfollowed = now.feeds.filter((each) => each.unfollowed > 0).length;
  const dead = now.feeds.reduce((all, each) => all + each.deadLetters, 0);
  return (
    <>
      <FindingsPanel found={now.findings} />
      <dl class="figures">
        <Figure label="Requests" value={`${ratio(sum((each) => each.requestsPerSecond))}/s`} note={`${count(sum((each) => each.requests))} since the start`} />
        <Figure label="Errors" value={`${ratio(errors)}/s`} note={`${count(sum((each) => each.errors))} since the start`} tone={errors > 0 ? "bad" : undefined} />
        <Figure
          label="Units"
          value={`${ratio(now.store.readUnitsPerSecond)} / ${ratio(now.store.writeUnitsPerSecond)}`}
          note="read / write, a second"
        />
        <Figure label="On DynamoDB" value={`${dollars(now.store.dollarsPerMonth)}`} note="a month at this rate" />
        <Figure
          label="Store"
          value={now.store.bytes === null ? "–" : bytes(now.store.bytes)}
          note={now.store.commitsPerSecond === null ? "" : `${ratio(now.store.commitsPerSecond)} commits/s${!now.store.syncSeconds ? "" : `, sync ${seconds(now.store.syncSeconds)}`}`}
        />
        {now.feeds.length > 0 && (
          <Figure
            label="Feeds"
            value={blocked > 0 ? `${blocked} waiting` : unfollowed > 0 ? `${unfollowed} not followed` : `${seconds(behind)} behind`}
            note={dead > 0 ? `${count(dead)} dead letters` : "no dead letters"}
            tone={blocked > 0 || unfollowed > 0 || dead > 0 ? "warn" : undefined}
          />
        )}
        <Figure label="This process" value={bytes(now.memory)} note={`${plural(now.connections, "connection")}, ${plural(now.consoles, "console")}`} />
      </dl>
      <Panel title="Services">
        <Services now={now} />
      </Panel>
      <Charts now={now} />
      <div class="panels">
        {now.feeds.length > 0 && <FeedsPanel now={now} />}
        {now.timers.length + now.batches.length > 0 && (
          <div>
            {now.timers.length > 0 && <TimersPanel now={now} />}
            {now.batches.length > 0 && <BatchesPanel now={now} />}
          </div>
        )}
      </div>
    </>
  );
}

function FindingsPanel({ found }: { found: Finding[] }) {
  const [all, setAll] = useState<Findings>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const examine = (fresh: boolean) => {
    setBusy(true);
    api<Findings>("findings", { fresh })
      .then((answer) => {
        setAll(answer);
        setError(undefined);
      }, setError)
      .finally(() => setBusy(false));
  };
  const shown = all?.findings ?? found;
  const wrong = found.length;
  return (
    <Panel
      title={
        wrong === 0 ? (
          <>
            <Sign tone="good" /> No warnings
          </>
        ) : (
          <>
            <Sign tone={found.some((each) => each.status === "fail") ? "bad" : "warn"} /> {wrong} {wrong === 1 ? "thing needs" : "things need"} attention
          </>
        )
      }
      tools={
        <>
          {all && <span class="muted">examined {clock(new Date(all.at))}</span>}
          <button type="button" class="quiet" disabled={busy} onClick={() => (all ? setAll(undefined) : examine(false))}>
            {all ? "Show warnings alone" : "Show all findings"}
          </button>
          <button type="button" class="quiet" disabled={busy} onClick={() => examine(true)}>
            {busy ? "Examining…" : "Examine again"}
          </button>
        </>
      }
    >
      {error && <Problem error={error} />}
      {shown.length > 0 && (
        <ul class="findings">
          {shown.map((each) => (
            <li>
              <Sign tone={({ ok: "good", warn: "warn", fail: "bad" } as const)[each.status]} />
              <span class="wrap">
                <strong>{each.subject}</strong>: {each.found}
              </span>
              {each.advice && <span class="advice wrap">{each.advice}</span>}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Services({ now }: { now: Now }) {
  return (
    <Table
      label="Services"
      heads={[
        { title: "Service" },
        { title: "Requests/s", align: "right" },
        { title: "p50", align: "right", hint: "Half of the requests were at least as fast" },
        { title: "p99", align: "right", hint: "All but one of a hundred requests were at least as fast" },
        { title: "Errors/s", align: "right", hint: "5xx and throttling" },
        { title: "Rejected/s", align: "right", hint: "Other 4xx" },
        { title: "Requests", align: "right", hint: "Since the start" },
        { title: "Errors", align: "right", hint: "Since the start" },
      ]}
    >
      {now.services.map((each) => (
        <tr class={each.requests === 0 ? "quiet-row" : ""}>
          <th scope="row">{each.name}</th>
          <td class="right">{ratio(each.requestsPerSecond)}</td>
          <td class="right">{each.p50 === null ? "–" : seconds(each.p50)}</td>
          <td class="right">{each.p99 === null ? "–" : seconds(each.p99)}</td>
          <td class="right">
            {each.errorsPerSecond > 0 && <Sign tone="bad" />} {ratio(each.errorsPerSecond)}
          </td>
          <td class="right">{ratio(each.rejectedPerSecond)}</td>
          <td class="right">{count(each.requests)}</td>
          <td class="right">{count(each.errors)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The last ten minutes: the server's history, and what came live since. */
function Charts({ now }: { now: Now }) {
  const history = useLoaded(() => api<OverviewHistory>("overview/history"), []);
  const [samples, setSamples] = useState<Sample[]>([]);
  useEffect(() => {
    if (history.value) setSamples(history.value.samples);
  }, [history.value]);
  useEffect(() => {
    setSamples((before) => (before.length > 0 && before[before.length - 1]!.at >= now.at ? before : [...before, sampleOf(now)].slice(-SAMPLES)));
  }, [now.at]);
  if (samples.length < 2) return null;
  const at = samples.map((each) => Date.parse(each.at) / 1000);
  const busy = now.services.map(({ name }) => name).filter((name) => samples.some((each) => (each.services[name]?.requestsPerSecond ?? 0) > 0));
  const shown = busy.length > 0 ? busy : now.services.slice(0, 1).map(({ name }) => name);
  const idle = <Empty>No requests in the last ten minutes.</Empty>;
  return (
    <div class="panels charts">
      <Panel title="Requests a second">
        {busy.length === 0 ? idle : <Lines
          label={`Requests a second of ${shown.join(", ")} in the last ten minutes; the table of services has the numbers of now`}
          seconds={at}
          lines={shown.map((name) => ({ name, values: samples.map((each) => each.services[name]?.requestsPerSecond ?? null) }))}
          format={ratio}
        />}
      </Panel>
      <Panel title="p99 of a request">
        {busy.length === 0 ? idle : <Lines
          label={`The 99th percentile of ${shown.join(", ")} in the last ten minutes; the table of services has the numbers of now`}
          seconds={at}
          lines={shown.map((name) => ({ name, values: samples.map((each) => each.services[name]?.p99 ?? null) }))}
          format={seconds}
        />}
      </Panel>
      <Panel title="Units a second">
        <Lines
          label="Read and write units a second in the last ten minutes; the figures above have the numbers of now"
          seconds={at}
          lines={[
            { name: "read units", values: samples.map((each) => each.readUnitsPerSecond) },
            { name: "write units", values: samples.map((each) => each.writeUnitsPerSecond) },
          ]}
          format={ratio}
        />
      </Panel>
    </div>
  );
}

function sampleOf(now: Now): Sample {
  return {
    at: now.at,
    services: Object.fromEntries(now.services.map((each) => [each.name, each])),
    readUnitsPerSecond: now.store.readUnitsPerSecond,
    writeUnitsPerSecond: now.store.writeUnitsPerSecond,
  };
}

function FeedsPanel({ now }: { now: Now }) {
  return (
    <Panel title="Feeds" tools={<a href="#/changes" onClick={() => (tab.value = "feeds")}>Shards and leases</a>}>
      <Table label="Feeds" heads={[{ title: "Feed" }, { title: "Behind", align: "right" }, { title: "Dead letters", align: "right" }]}>
        {now.feeds.map((each) => (
          <tr>
            <td>
              {each.name} <span class="muted">{each.service}</span>
              {(each.blocked !== null || each.unfollowed > 0) && (
                <span class="sub">
                  <Sign tone="warn" /> {each.lagText}
                </span>
              )}
            </td>
            <td class="right">{each.lagSeconds === null ? "–" : seconds(each.lagSeconds)}</td>
            <td class="right">
              {each.deadLetters > 0 && <Sign tone="warn" />} {count(each.deadLetters)}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function TimersPanel({ now }: { now: Now }) {
  return (
    <Panel title="Timers">
      <Table label="Timers" heads={[{ title: "Schedule" }, { title: "Overdue", align: "right" }, { title: "Next", align: "right" }]}>
        {now.timers.map((each) => (
          <tr>
            <td>
              {each.schedule} <span class="muted">{each.service}</span>
            </td>
            <td class="right">
              {each.overdue > 0 && <Sign tone="warn" />} {count(each.overdue)}
            </td>
            <td class="right">{each.next === null ? "none" : away(new Date(each.next), new Date(now.at))}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function BatchesPanel({ now }: { now: Now }) {
  return (
    <Panel title="Batch loads">
      <Table label="Batch loads" heads={[{ title: "Service" }, { title: "Load" }, { title: "When", align: "right" }]}>
        {now.batches.map((each) => (
          <tr>
            <td>{each.service}</td>
            <td>
              {each.what}
              <span class="sub">{each.text}</span>
            </td>
            <td class="right">{away(new Date(each.at), new Date(now.at))}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

