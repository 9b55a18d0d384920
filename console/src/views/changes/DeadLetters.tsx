// What the feeds gave up: look at it, send it again, or drop it.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { api, RequestError } from "../../api/requests.ts";
import type { Cursor, Feeds, Letters, LettersDone } from "../../api/types.ts";
import { count, plural } from "../../numbers.ts";
import { Dialog, Empty, Panel, Problem, Shown, Table } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { clock } from "../../times.ts";
import { clipped, visibleLines } from "../../values/attribute.ts";

const AT_ONCE = 100;
const EVERY = 2000;

export function DeadLetters() {
  const feeds = useLoaded(() => api<Feeds>("feeds"), [], EVERY);
  const [chosen, setChosen] = useState("");
  return (
    <Shown loaded={feeds}>
      {(value) => {
        const services = [...new Set(value.feeds.map(({ service }) => service))].sort();
        if (services.length === 0) return <Empty>No service here follows changes.</Empty>;
        const counted = (service: string) => value.feeds.filter((each) => each.service === service).reduce((sum, each) => sum + each.deadLetters, 0);
        const service = services.includes(chosen) ? chosen : (services.find((each) => counted(each) > 0) ?? services[0]!);
        return (
          <>
            <p class="tools lead">
              {services.map((each) => (
                <button type="button" class={`chip ${each === service ? "on" : ""}`} aria-pressed={each === service} onClick={() => setChosen(each)}>
                  {each} {count(counted(each))}
                </button>
              ))}
            </p>
            <Service key={service} service={service} onDone={feeds.reload} />
          </>
        );
      }}
    </Shown>
  );
}

function Service({ service, onDone }: { service: string; onDone: () => void }) {
  const [afters, setAfters] = useState<Cursor[]>([]);
  const after = afters[afters.length - 1];
  const letters = useLoaded(() => api<Letters>("letters", { service, first: AT_ONCE, ...(after === undefined ? {} : { after }) }), [service, after], EVERY);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [open, setOpen] = useState<Letters["letters"][number]>();
  const [asking, setAsking] = useState(false);
  const [done, setDone] = useState<LettersDone>();
  const [error, setError] = useState<Error>();
  const { write } = about.value!.you;
  const may = write === "all" || write.includes(service);
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  // What is acted on is in sight.
  const turn = (to: Cursor[]) => {
    setAfters(to);
    setSelected(new Set());
  };
  const act = (action: "retry" | "drop") => {
    setAsking(false);
    api<LettersDone>("letters/act", { service, ids: [...selected], action }).then(
      (answer) => {
        setDone(answer);
        setError(undefined);
        setSelected(new Set());
        letters.reload();
        onDone();
      },
      (raised: unknown) => {
        if (!(raised instanceof RequestError)) throw raised;
        setError(raised);
      },
    );
  };
  return (
    <Panel
      title={`Dead letters of ${service}`}
      tools={
        may && (
          <>
            <button type="button" disabled={selected.size === 0} onClick={() => act("retry")}>
              Send again {selected.size > 0 && count(selected.size)}
            </button>
            <button type="button" class="danger" disabled={selected.size === 0} onClick={() => setAsking(true)}>
              Drop {selected.size > 0 && count(selected.size)}…
            </button>
          </>
        )
      }
    >
      {error && <Problem error={error} />}
      {done && <Outcome done={done} />}
      <Shown loaded={letters}>
        {(value) =>
          value.letters.length === 0 ? (
            <Empty>No dead letters. What a feed cannot handle after its retries appears here, with the reason.</Empty>
          ) : (
            <>
              <Table label="Dead letters" heads={[{ title: may ? "Select" : "" }, { title: "Feed" }, { title: "Given up" }, { title: "Reason" }, { title: "" }]}>
                {value.letters.map((each) => (
                  <tr>
                    <td>{may && <input type="checkbox" aria-label={`Select ${clipped(each.id, 60)}`} checked={selected.has(each.id)} onChange={() => toggle(each.id)} />}</td>
                    <td>{each.feed}</td>
                    <td>{clock(new Date(each.at))}</td>
                    <td class="wrap">{clipped(each.reason, 400)}</td>
                    <td>
                      <button type="button" class="quiet" onClick={() => setOpen(each)}>
                        Look
                      </button>
                    </td>
                  </tr>
                ))}
              </Table>
              <p class="tools">
                {may && (
                  <button type="button" class="quiet" onClick={() => setSelected(new Set(selected.size > 0 ? [] : value.letters.map(({ id }) => id)))}>
                    {selected.size > 0 ? "Select none" : `Select ${value.letters.length === 1 ? "it" : `all ${count(value.letters.length)}`}`}
                  </button>
                )}
                {afters.length > 0 && (
                  <button type="button" onClick={() => turn(afters.slice(0, -1))}>
                    Page before
                  </button>
                )}
                {value.next !== null && (
                  <button type="button" onClick={() => turn([...afters, value.next as Cursor])}>
                    Next page
                  </button>
                )}
              </p>
            </>
          )
        }
      </Shown>
      {open && (
        <Dialog title={`Dead letter of ${open.feed}`} onClose={() => setOpen(undefined)}>
          <div>
            <p class="notice">{clipped(open.reason, 2000)}</p>
            <p class="muted">
              Given up {clock(new Date(open.at))}, kept until {clock(new Date(open.expires))}.{!open.complete && " Its record was too large and is not complete."}
            </p>
            <pre class="code" tabIndex={0} aria-label="Record">
              {visibleLines(JSON.stringify(open.record, null, 2).slice(0, 60_000))}
            </pre>
          </div>
        </Dialog>
      )}
      {asking && (
        <Dialog title={`Drop ${plural(selected.size, "dead letter")}?`} onClose={() => setAsking(false)}>
          <p>{selected.size === 1 ? "It is deleted, and nothing will handle its change." : "They are deleted, and nothing will handle their changes."}</p>
          <div class="actions">
            <button type="button" class="danger" onClick={() => act("drop")}>
              Drop {count(selected.size)}
            </button>
          </div>
        </Dialog>
      )}
    </Panel>
  );
}

function Outcome({ done }: { done: LettersDone }) {
  const failed = done.results.filter(({ outcome }) => outcome === "failed");
  return (
    <p class={failed.length > 0 || done.stopped ? "notice" : "muted"} role="status">
      {count(done.results.length - failed.length)} done{failed.length > 0 && `, ${count(failed.length)} failed: ${clipped(failed[0]!.reason, 300)}`}
      {done.stopped && ` Stopped: ${done.stopped}`}
    </p>
  );
}
