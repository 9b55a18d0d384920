// What a store's products cost at any instant: a slider through time, and changes that take effect while one watches.
import { useEffect, useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { request, RequestError } from "../../api/requests.ts";
import { count } from "../../numbers.ts";
import { Empty, Entry, Field, Page, Panel, Problem, Shown, Table } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { away, clock } from "../../times.ts";
import { Calls, part, traced } from "./traced.tsx";

interface Price {
  product: string;
  amount: number;
  currency: string;
  effectiveFrom: string;
}
interface Change {
  id: string;
  product: string;
  channel: string;
  action: string;
  amount: number | null;
  effectiveAt: string;
  status: string;
}
interface Listed<Each> {
  items: Each[];
}

/** Of the slider, in seconds from now. */
const [BEFORE, AFTER] = [-600, 600];
const SOON = 15;
const SHOWN = 64;
/** Whose present price a change is compared with. */
const KNOWN = 1000;

export function Pricing() {
  const [store, setStore] = useState("12345");
  const [offset, setOffset] = useState(0);
  const [day, setDay] = useState("");
  const [time, setTime] = useState("00:00");
  const [product, setProduct] = useState("P001");
  const [now, setNow] = useState(new Date());
  const [error, setError] = useState<RequestError>();
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 1000);
    return () => clearInterval(timer);
  }, []);
  const instant = day === "" ? new Date(now.getTime() + offset * 1000) : new Date(`${day}T${time}`);
  const isNow = day === "" && offset === 0;
  const at = isNow ? "" : `at=${part(instant.toISOString())}`;
  const stores = `/pricing/stores/${part(store)}`;
  const current = useLoaded(() => request<Listed<Price>>(`${stores}/prices?first=${KNOWN}`), [store], 2000);
  const shown = useLoaded(() => traced<Listed<Price>>({ path: `${stores}/prices?first=${SHOWN}&${at}` }), [store, offset, day, time], 1000, true);
  const changes = useLoaded(() => request<Listed<Change>>(`${stores}/changes?first=100`), [store], 1500);
  const one = useLoaded(() => request<Price>(`${stores}/products/${part(product)}?${at}`), [store, product, offset, day, time], 2000, true);
  const { write } = about.value!.you;
  const may = write === "all" || write.includes("pricing");
  const prices = new Map(current.value?.items.map((each) => [each.product, each.amount]));
  const due = (changes.value?.items ?? []).filter(({ status }) => status === "SCHEDULED");

  const change = () => {
    const price = prices.get(product) ?? 5;
    const body = { store, product, amount: Math.round((price + 0.5) * 100) / 100, effectiveAt: new Date(Date.now() + SOON * 1000).toISOString() };
    request(`/pricing/changes?requestedBy=console`, { body }).then(
      () => {
        setError(undefined);
        changes.reload();
      },
      (raised: unknown) => {
        if (!(raised instanceof RequestError)) throw raised;
        setError(raised);
      },
    );
  };

  return (
    <Page title="Pricing" hint="A future change is a row whose sort key has its instant, so a price is right to the second, also for an instant before or after now.">
      {error && <Problem error={error} />}
      <Panel
        title={
          <>
            {isNow ? "Now" : clock(instant, new Date(0))} <span class="muted">{isNow ? "" : away(instant, now)}</span>
          </>
        }
        tools={
          <button type="button" disabled={isNow} onClick={() => (setOffset(0), setDay(""))}>
            Back to now
          </button>
        }
      >
        <div class="slider">
          <input
            type="range"
            aria-label="Instant, from ten minutes ago to ten minutes ahead"
            aria-valuetext={isNow ? "now" : away(instant, now)}
            min={BEFORE}
            max={AFTER}
            step={5}
            value={day === "" ? offset : 0}
            onInput={(event) => {
              setDay("");
              setOffset(Number(event.currentTarget.value));
            }}
          />
          <div class="ticks" aria-hidden="true">
            <span class="tick-first">10 min ago</span>
            <span class="tick-now" style={{ left: "50%" }}>
              now
            </span>
            <span class="tick-last">in 10 min</span>
            {[...new Set(due.map((each) => place(each, now)))].map((left) => (
              <span style={{ left: `${left}%` }}>▲</span>
            ))}
          </div>
          <div class="fields">
            <Field label="Store">{(id) => <Entry id={id} value={store} onEnter={setStore} />}</Field>
            <Field label="Product">{(id) => <Entry id={id} value={product} onEnter={setProduct} />}</Field>
            <Field label="On another day">{(id) => <input id={id} type="date" value={day} onChange={(event) => setDay(event.currentTarget.value)} />}</Field>
            <Field label="At" hint="your time">{(id) => <input id={id} type="time" value={time} disabled={day === ""} onChange={(event) => setTime(event.currentTarget.value || "00:00")} />}</Field>
            <button type="button" disabled={!may} onClick={change}>
              Raise {product} by 0.50 in {SOON} s
            </button>
          </div>
        </div>
        <Shown loaded={one}>
          {(price) => (
            <p class="cost answer" aria-live="polite">
              <span>
                {product} costs{" "}
                <strong class="lit" key={price.amount}>
                  {price.amount.toFixed(2)} {price.currency}
                </strong>{" "}
                {isNow ? "now" : `at ${clock(instant, new Date(0))}`}, since {clock(new Date(price.effectiveFrom))}.
              </span>
            </p>
          )}
        </Shown>
      </Panel>
      <Panel title={`The first ${SHOWN} products of store ${store}`} tools={<span class="muted">Choose one to see it above.{!isNow && " Framed: not its price of now."}</span>}>
        <Shown loaded={shown}>
          {({ body, calls, seconds }) =>
            body.items.length === 0 ? (
              <Empty>The store has no prices at this instant.</Empty>
            ) : (
              <div>
                <ul class="price-grid">
                  {body.items.map((each) => {
                    const differs = prices.has(each.product) && prices.get(each.product) !== each.amount;
                    return (
                      <li key={each.product}>
                        <button
                          type="button"
                          key={each.amount}
                          class={`price lit ${differs ? "differs" : ""}`}
                          aria-pressed={each.product === product}
                          title={`since ${clock(new Date(each.effectiveFrom))}`}
                          onClick={() => setProduct(each.product)}
                        >
                          <span>{each.product}</span>
                          <span>
                            {differs && <span class="visually-hidden">differs from now: </span>}
                            {each.amount.toFixed(2)}
                          </span>
                        </button>
                      </li>
                    );
                  })}
                </ul>
                <Calls calls={calls} took={seconds} />
              </div>
            )
          }
        </Shown>
      </Panel>
      <Panel title={due.length === 1 ? "1 change is due" : `${count(due.length)} changes are due, ▲ above`}>
        {due.length === 0 ? (
          <Empty>Nothing is scheduled for this store. Raise a price, and watch it take effect.</Empty>
        ) : (
          <Table label="Changes that are due" heads={[{ title: "Product" }, { title: "Now", align: "right" }, { title: "Then", align: "right" }, { title: "At", align: "right" }, { title: "", align: "right" }]}>
            {due.map((each) => (
              <tr>
                <td>{each.product}</td>
                <td class="right">{prices.get(each.product)?.toFixed(2) ?? "–"}</td>
                <td class="right">{each.action === "DELETE" ? "gone" : each.amount?.toFixed(2)}</td>
                <td class="right">{clock(new Date(each.effectiveAt))}</td>
                <td class="right">{away(new Date(each.effectiveAt), now)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
    </Page>
  );
}

/** Where on the slider a change takes effect, in percent. */
function place(change: Change, now: Date): number {
  const offset = (Date.parse(change.effectiveAt) - now.getTime()) / 1000;
  return Math.max(0, Math.min(100, (100 * (offset - BEFORE)) / (AFTER - BEFORE)));
}
