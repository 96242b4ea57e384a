import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeadLetter } from '../../clients/typescript/gen/operations.ts';
import { api, listRefreshMs } from '../api/queries.ts';
import { useMay } from '../app/session.ts';
import { useFilters } from '../app/use-filters.ts';
import { ActButton } from '../parts/act-button.tsx';
import { ActorLink } from '../parts/actor-link.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SelectFilter } from '../parts/filters.tsx';
import { countOf, plainLine } from '../parts/format.ts';
import { CellText, LongJson } from '../parts/long-text.tsx';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Status } from '../parts/status.tsx';
import { TimeAgo } from '../parts/time.tsx';

const STATUSES = ['open', 'replayed', 'discarded'] as const;
const MOST = 200;

/** Messages that failed too often: inspect, replay, discard. */
export function DeadLettersPage() {
  const [{ status = '' }, setFilters] = useFilters();
  const read = useQuery({
    queryKey: ['dead-letters', status],
    queryFn: () => api.deadLetters.list({ status: STATUSES.find((one) => one === status), limit: MOST }),
    refetchInterval: listRefreshMs,
  });
  const letters = read.data?.dead_letters ?? [];
  return (
    <>
      <PageHead
        title="Dead letters"
        note={read.data === undefined ? undefined : countOf(letters.length, read.data.next_page_token !== undefined)}
      />
      <div className="filters">
        <SelectFilter
          label="Status"
          value={status}
          options={[['', 'any'], ...STATUSES.map((one) => [one, one] as const)]}
          change={(value) => setFilters({ status: value })}
        />
      </div>
      <ReadState of={read} what="dead letters" />
      {read.data !== undefined && letters.length === 0 && (
        <Empty title={status === '' ? 'There is no dead letter.' : `There is no dead letter that is ${status}.`}>
          A message that fails in every attempt is kept here with its error.
        </Empty>
      )}
      {letters.length > 0 && <Letters letters={letters} />}
    </>
  );
}

function Letters({ letters }: { readonly letters: readonly DeadLetter[] }) {
  const may = useMay();
  const [shown, setShown] = useState<string | null>(null);
  return (
    <>
      <PlainTable
        label="Dead letters"
        rows={letters}
        rowKey={({ id }) => id}
        columns={[
          ['When', ({ at }) => <TimeAgo at={at} />],
          ['Status', ({ status }) => <Status status={status === 'open' ? 'dead_lettered' : status} label={status} />],
          ['Actor', ({ address }) => <ActorLink address={address} length={8} />],
          [
            'Message',
            ({ message }) =>
              message === null ? (
                'cannot be read'
              ) : (
                <Link to="/traces/$id" params={{ id: message.trace_id }} search={{ m: message.message_id }}>
                  {plainLine(message.type)}
                </Link>
              ),
          ],
          ['Error', ({ error }) => plainLine(error)],
          [
            '',
            ({ id, status, message }) => (
              <div className="actions">
                <button type="button" onClick={() => setShown(id)}>
                  Inspect
                </button>
                {may('write') && status !== 'discarded' && message !== null && (
                  <ActButton
                    label="Replay"
                    ask="The message is sent to its actor once more."
                    reason="Why (optional)"
                    act={(reason) => api.deadLetters.replay({ id, body: { reason: reason || undefined } })}
                  />
                )}
                {may('write') && status !== 'discarded' && (
                  <ActButton
                    label="Discard"
                    isDanger
                    ask="The letter is settled: it stays as a record and cannot be replayed any more."
                    reason="Why"
                    act={(reason) => api.deadLetters.discard({ id, reason })}
                  />
                )}
              </div>
            ),
          ],
        ]}
      />
      {shown !== null && <Letter id={shown} close={() => setShown(null)} />}
    </>
  );
}

function Letter({ id, close }: { readonly id: string; readonly close: () => void }) {
  const read = useQuery({ queryKey: ['dead-letter', id], queryFn: () => api.deadLetters.get({ id }) });
  return (
    <Dialog title="Dead letter" close={close}>
      <ReadState of={read} what="the letter" />
      {read.data !== undefined && (
        <>
          <div className="notice notice-bad">
            <span>
              <CellText text={read.data.error} name="error" />
            </span>
          </div>
          <LongJson value={read.data.payload} name="payload" />
          {read.data.replays.map((replay) => (
            <p key={replay.at}>
              Replayed <TimeAgo at={replay.at} /> by {plainLine(replay.by)}:{' '}
              {plainLine(replay.reason ?? 'no reason given')}
            </p>
          ))}
          {read.data.discarded !== null && (
            <p>
              Discarded <TimeAgo at={read.data.discarded.at} /> by {plainLine(read.data.discarded.by)}:{' '}
              {plainLine(read.data.discarded.reason ?? 'no reason given')}
            </p>
          )}
        </>
      )}
    </Dialog>
  );
}
