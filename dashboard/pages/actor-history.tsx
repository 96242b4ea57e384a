import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Delivery } from '../../clients/typescript/gen/operations.ts';
import { api, listRefreshMs } from '../api/queries.ts';
import { useFilters } from '../app/use-filters.ts';
import { ActorLink } from '../parts/actor-link.tsx';
import { formatCount, formatDuration, jsonText, plainLine, plainText } from '../parts/format.ts';
import { Id } from '../parts/id.tsx';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Status } from '../parts/status.tsx';
import { ClockTime } from '../parts/time.tsx';

const PAGE_ROWS = 1_000;
/** Deliveries that the page reads at most: the newest, since those say how the actor is now. */
const MOST = 10_000;

interface ActorProps {
  readonly kind: string;
  readonly id: string;
}

/** The newest deliveries to an actor, in the order of time. */
async function newestDeliveries({ kind, id }: ActorProps) {
  const newest: Delivery[] = [];
  for (let next: string | undefined; ; ) {
    const page = await api.actors.listHistory({ kind, id, order: 'newest_first', limit: PAGE_ROWS, next });
    newest.push(...page.deliveries);
    if (page.next === null || newest.length >= MOST)
      return { deliveries: newest.reverse(), isCut: page.next !== null, keptFrom: page.kept_from };
    next = page.next;
  }
}

/** A button while the actor got deliveries that the page has not read. The chosen message and its state stay until then. */
function NewDeliveries({ kind, id, last, show }: ActorProps & { readonly last: Delivery; readonly show: () => void }) {
  const read = useQuery({
    queryKey: ['actor-newest', kind, id],
    queryFn: () => api.actors.listHistory({ kind, id, order: 'newest_first', limit: 1 }),
    refetchInterval: listRefreshMs,
  });
  const newest = read.data?.deliveries[0];
  if (newest === undefined || (newest.message_id === last.message_id && newest.attempt === last.attempt)) return null;
  return (
    <button type="button" className="fresh" onClick={show}>
      Show new messages
    </button>
  );
}

/** The messages of the actor, with its state after the selected one. The message is in the address. */
export function ActorHistory({ kind, id }: ActorProps) {
  const [{ at = '' }, setFilters] = useFilters();
  const read = useQuery({
    queryKey: ['actor-history', kind, id],
    queryFn: () => newestDeliveries({ kind, id }),
    refetchOnWindowFocus: false,
  });
  if (read.data === undefined) return <ReadState of={read} what="the history" />;
  const { deliveries, isCut, keptFrom } = read.data;
  const last = deliveries.at(-1);
  if (last === undefined) {
    return (
      <Empty title="No delivery to this actor is kept.">
        {keptFrom === undefined ? 'The ledger has none.' : `The ledger is kept from ${keptFrom} on.`}
      </Empty>
    );
  }
  const found = deliveries.findIndex(({ message_id }) => message_id === at);
  const isElsewhere = at !== '' && found === -1;
  const place = found === -1 ? deliveries.length - 1 : found;
  const here = deliveries[place] ?? last;
  return (
    <>
      <div className="slider">
        <label htmlFor="message">
          {isElsewhere ? (
            <>
              Message <Id id={at} />, which is not among those below
            </>
          ) : (
            <>
              Message {formatCount(place + 1)} of {isCut && 'the last '}
              {formatCount(deliveries.length)}: <b>{plainLine(here.type)}</b> <ClockTime at={here.at} />
            </>
          )}
        </label>
        <NewDeliveries kind={kind} id={id} last={last} show={() => void read.refetch()} />
        <input
          id="message"
          type="range"
          min={1}
          max={deliveries.length}
          value={place + 1}
          onChange={(event) => setFilters({ at: deliveries[Number(event.target.value) - 1]?.message_id ?? '' }, true)}
        />
      </div>
      <StateAt kind={kind} id={id} message={isElsewhere ? at : here.message_id} />
      <h2>Deliveries</h2>
      <PlainTable
        label="Deliveries"
        rows={deliveries.slice(Math.max(0, place - 50), place + 50)}
        rowKey={({ message_id, attempt }) => `${message_id} ${attempt}`}
        columns={[
          ['Time', ({ at: time }) => <ClockTime at={time} />],
          [
            'Message',
            ({ message_id, type }) => (
              <button
                type="button"
                className="plain link"
                aria-pressed={!isElsewhere && message_id === here.message_id}
                onClick={() => setFilters({ at: message_id })}
              >
                {plainLine(type, 60)}
              </button>
            ),
          ],
          ['Outcome', ({ outcome }) => <Status status={outcome ?? 'pending'} />],
          ['Waited', ({ wait_ms }) => <Took ms={wait_ms} />],
          ['Turn', ({ turn_ms }) => <Took ms={turn_ms} />],
          ['From', ({ from }) => (from === null ? 'a client or an effect' : <ActorLink address={from} length={8} />)],
          ['Node', ({ node }) => (node === null ? '' : <Id id={node} />)],
        ]}
      />
    </>
  );
}

const Took = ({ ms }: { readonly ms: number | null }) => (
  <span className="figures">{ms === null ? '' : formatDuration(ms)}</span>
);

/** The state after a message, rebuilt by replay, and the changes that the message made. */
function StateAt({ kind, id, message }: ActorProps & { readonly message: string }) {
  const diff = useQuery({
    queryKey: ['actor-diff', kind, id, message],
    queryFn: () => api.actors.getDiff({ kind, id, to: message }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (diff.data === undefined) return <ReadState of={diff} what="what it changed" />;
  const { changes, differs, cut } = diff.data;
  return (
    <section className="card" aria-label="What this message changed">
      <header>
        <h2>What this message changed</h2>
        <InTrace message={message} />
      </header>
      {differs !== null && (
        <p className="notice notice-bad">
          A replay differs from what was recorded at message {plainLine(differs.message_id)}: {differs.parts.join(', ')}
          .
        </p>
      )}
      {changes.length === 0 && <p className="quiet">Nothing.</p>}
      {changes.length > 0 && (
        <PlainTable
          label="Changes"
          rows={changes}
          rowKey={({ path }) => path}
          columns={[
            ['Part', ({ path }) => <code>{plainLine(path || '/', 200)}</code>],
            ['Change', ({ kind: of }) => of],
            ['Before', ({ before }) => <code>{shortJson(before)}</code>],
            ['After', ({ after }) => <code>{shortJson(after)}</code>],
          ]}
        />
      )}
      {cut && <p className="quiet">There are more changes than are shown.</p>}
    </section>
  );
}

/** Link to the message in the trace, with its causes and effects highlighted. */
function InTrace({ message }: { readonly message: string }) {
  const read = useQuery({
    queryKey: ['message', message],
    queryFn: () => api.messages.get({ id: message }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (read.data === undefined) return <ReadState of={read} what="its trace" />;
  return (
    <Link className="button" to="/traces/$id" params={{ id: read.data.trace_id }} search={{ m: message }}>
      Show in its trace
    </Link>
  );
}

const shortJson = (value: unknown): string =>
  value === undefined || value === null ? '' : plainText(jsonText(value).slice(0, 2_000));
