// What a person has saved: the night's batch, what came since, and the merge of the two.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { request, RequestError } from "../../api/requests.ts";
import { count, money } from "../../numbers.ts";
import { Entry, Field, Page, Panel, Problem, Shown } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { away, clock } from "../../times.ts";
import { Calls, part, traced } from "./traced.tsx";

interface Goal {
  goalId: string;
  month: string;
  targetAmount: number;
  savedAmount: number;
  status: string;
  specialRate: number;
  chosen: boolean;
}
interface Person {
  personId: string;
  name: string;
  goals: Goal[];
  lastUpdated: string;
  asOf: string;
}

const PENDING = "PENDING_CONFIRMATION";
const WORDS: Record<string, string> = { NOT_STARTED: "not started", IN_PROGRESS: "in progress", COMPLETED: "completed", [PENDING]: "pending: newer than the batch" };
const DEPOSIT = 50;

export function Goals() {
  const [person, setPerson] = useState("ana");
  const [error, setError] = useState<RequestError>();
  /** What the last batch said, for each goal: what is shown while nothing is pending. */
  const [confirmed, setConfirmed] = useState<Record<string, number>>({});
  const { write } = about.value!.you;
  const may = write === "all" || write.includes("goals");
  const loaded = useLoaded(
    async () => {
      const answer = await traced<Person>({ path: `/goals/${part(person)}` });
      const settled = answer.body.goals.filter((each) => each.status !== PENDING);
      setConfirmed((before) => ({ ...before, ...Object.fromEntries(settled.map((each) => [`${person} ${each.goalId}`, each.savedAmount])) }));
      return answer;
    },
    [person],
    1500,
  );
  const send = (path: string, options: { method?: string; body?: unknown }) => {
    request(path, options).then(
      () => {
        setError(undefined);
        loaded.reload();
      },
      (raised: unknown) => {
        if (!(raised instanceof RequestError)) throw raised;
        setError(raised);
      },
    );
  };
  const deposit = (goal: Goal, amount: number) =>
    send("/goals/events", {
      body: {
        eventId: `console-${Date.now()}-${Math.random()}`,
        personId: person,
        goalId: goal.goalId,
        currentBalance: Math.round((goal.savedAmount + amount) * 100) / 100,
        status: PENDING,
        updatedAt: new Date().toISOString(),
      },
    });
  return (
    <Page
      title="Goals"
      hint="A batch computes each night what everybody has saved: right, and late. Deposits are known at once, and not confirmed yet. The answer has both. The demonstration's night is a minute long."
    >
      {error && <Problem error={error} />}
      <Panel
        title="A person"
        tools={<Field label={<span class="visually-hidden">Person</span>}>{(id) => <Entry id={id} value={person} onEnter={setPerson} />}</Field>}
      >
        <p class="muted">Try ana, or p0000000 to p0000499, who deposit by themselves.</p>
        <Shown loaded={loaded}>
          {({ body, calls, seconds }) => (
            <div>
              <dl class="figures">
                <div class="figure">
                  <dt>Source 1: the batch, complete up to</dt>
                  <dd>
                    <span class="number">{clock(new Date(body.asOf))}</span>
                    <span class="note">ran {away(new Date(body.lastUpdated))}</span>
                  </dd>
                </div>
                <div class="figure">
                  <dt>Source 2: deposits since</dt>
                  <dd>
                    <span class="number">{count(body.goals.filter((each) => each.status === PENDING).length)} goals</span>
                    <span class="note">pending until a batch has them</span>
                  </dd>
                </div>
                <div class="figure">
                  <dt>Merged</dt>
                  <dd>
                    <span class="number">{body.name}</span>
                    <span class="note">a pending balance shows while it is after the batch's instant</span>
                  </dd>
                </div>
              </dl>
              <ul>
                {body.goals.map((each) => (
                  <GoalLine
                    key={each.goalId}
                    goal={each}
                    batch={confirmed[`${person} ${each.goalId}`]}
                    may={may}
                    onDeposit={() => deposit(each, DEPOSIT)}
                    onChoose={() => send(`/goals/${part(person)}/choices/${part(each.goalId)}`, { method: each.chosen ? "DELETE" : "PUT" })}
                  />
                ))}
              </ul>
              <Calls calls={calls} took={seconds} />
            </div>
          )}
        </Shown>
      </Panel>
    </Page>
  );
}

function GoalLine({ goal, batch, may, onDeposit, onChoose }: { goal: Goal; batch: number | undefined; may: boolean; onDeposit: () => void; onChoose: () => void }) {
  const pending = goal.status === PENDING;
  const sure = pending ? Math.min(batch ?? 0, goal.savedAmount) : goal.savedAmount;
  const share = (amount: number) => `${Math.min(100, (amount / goal.targetAmount) * 100)}%`;
  return (
    <li class="goal">
      <div class="goal-line">
        <strong>{goal.goalId}</strong>
        <span>
          <span class="lit" key={goal.savedAmount}>
            {money(goal.savedAmount)}
          </span>{" "}
          of {money(goal.targetAmount)}
        </span>
        <span class="badge">{WORDS[goal.status] ?? goal.status}</span>
        {pending && batch !== undefined && <span class="muted">batch: {money(batch)}</span>}
        <span class="muted">
          rate {(goal.specialRate * 100).toFixed(0)} %, month {goal.month}
        </span>
        <button type="button" class="quiet" disabled={!may} onClick={onDeposit}>
          Deposit {DEPOSIT}.00
        </button>
        <button type="button" class="quiet" disabled={!may} aria-pressed={goal.chosen} onClick={onChoose}>
          {goal.chosen ? "★ chosen" : "☆ choose"}
        </button>
      </div>
      <div class="progress" role="img" aria-label={`${money(goal.savedAmount)} of ${money(goal.targetAmount)}`}>
        <span class="batch" style={{ width: share(sure) }} />
        <span class="pending" style={{ width: share(goal.savedAmount - sure) }} />
      </div>
    </li>
  );
}
