import { useQuery } from '@tanstack/react-query';
import { api, listRefreshMs } from '../api/queries.ts';
import { ActorLink } from '../parts/actor-link.tsx';
import { plainLine } from '../parts/format.ts';
import { Id } from '../parts/id.tsx';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { TimeAgo } from '../parts/time.tsx';

const MOST = 200;

/** The messages that wait for an actor now, oldest first. */
export function ActorMailbox({ kind, id }: { readonly kind: string; readonly id: string }) {
  const read = useQuery({
    queryKey: ['actor-mailbox', kind, id],
    queryFn: () => api.actors.listMailbox({ kind, id, limit: MOST }),
    refetchInterval: listRefreshMs,
  });
  if (read.data === undefined) return <ReadState of={read} what="its waiting messages" />;
  const { messages, next_page_token: next } = read.data;
  if (messages.length === 0 && next === undefined) {
    return <Empty title="No message waits for this actor.">Those that it handled are in its history.</Empty>;
  }
  return (
    <>
      <PlainTable
        label="Waiting messages"
        rows={messages}
        rowKey={({ message_id }) => message_id}
        columns={[
          ['Since', ({ at }) => <TimeAgo at={at} />],
          ['Message', ({ type }) => plainLine(type, 60)],
          ['Why it waits', ({ reason }) => reason],
          ['From', ({ from, origin }) => (from === null ? plainLine(origin) : <ActorLink address={from} length={8} />)],
          ['Id', ({ message_id }) => <Id id={message_id} />],
        ]}
      />
      {next !== undefined && <p className="quiet">There may be more: svc actor mailbox lists all.</p>}
    </>
  );
}
