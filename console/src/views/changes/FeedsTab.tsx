// The feeds: how far behind, why, and who reads which shard.
import { useState } from "preact/hooks";
import { feeds, problems, useTopic } from "../../api/live.ts";
import type { Feed } from "../../api/types.ts";
import { count } from "../../numbers.ts";
import { Empty, Panel, Sign, Table } from "../../shell/parts.tsx";
import { seconds } from "../../times.ts";

const BEHIND = 10;

export function FeedsTab() {
  useTopic("feeds");
  const now = feeds.value;
  return (
    <>
      {problems.value.feeds && <p class="notice">{problems.value.feeds}</p>}
      {!now ? <p class="loading">Loading…</p> : now.feeds.length === 0 ? <Empty>No service here follows changes.</Empty> : now.feeds.map((each) => <FeedPanel key={`${each.service} ${each.name}`} feed={each} />)}
    </>
  );
}

function FeedPanel({ feed }: { feed: Feed }) {
  const [open, setOpen] = useState(false);
  const tone = feed.blocked !== null || feed.unfollowed > 0 || (feed.lagSeconds ?? 0) > BEHIND ? "warn" : "good";
  return (
    <Panel
      title={
        <>
          <Sign tone={tone} /> {feed.name} <span class="muted">{feed.service}</span>
        </>
      }
      tools={
        <>
          <span class="badge">{feed.kind}</span>
          <span class="badge">{feed.following ? "followed by this process" : "not followed by this process"}</span>
          {feed.table && <span class="badge">{feed.table}</span>}
        </>
      }
    >
      <p class="cost">
        <span>
          <strong>{feed.lagSeconds === null ? "–" : seconds(feed.lagSeconds)}</strong> behind
        </span>
        <span>{feed.lagText}</span>
      </p>
      {feed.blocked && <p class="notice">{feed.blocked}</p>}
      <p class="cost">
        <span>
          <strong>{count(feed.handled)}</strong> handled
        </span>
        <span>
          <strong>{count(feed.skipped)}</strong> skipped
        </span>
        <span>
          {feed.deadLetters > 0 && <Sign tone="warn" />} <strong>{count(feed.deadLetters)}{feed.deadLettersMore && "+"}</strong> dead letters
        </span>
        {feed.shards.length > 0 && (
          <button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide" : "Show"} {count(feed.shards.length)} {feed.shards.length === 1 ? "shard" : "shards"}
          </button>
        )}
      </p>
      {open && (
        <Table
          label={`Shards of ${feed.name}`}
          heads={[{ title: "Shard" }, { title: "State" }, { title: "Behind", align: "right" }, { title: "Lease" }, { title: "Checkpoint" }]}
        >
          {feed.shards.map((each) => (
            <tr>
              <td class="mono wrap">{each.shard}</td>
              <td>{each.state}</td>
              <td class="right">{each.lagSeconds === null ? "–" : seconds(each.lagSeconds)}</td>
              <td class="wrap">{each.here ? "this process" : (each.owner ?? "nobody")}
                {each.silent && (
                  <span class="sub">
                    <Sign tone="warn" /> has stopped
                  </span>
                )}</td>
              <td class="mono wrap">{each.checkpoint ?? "–"}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
