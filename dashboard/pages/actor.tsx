import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api, listRefreshMs } from '../api/queries.ts';
import { useFilters } from '../app/use-filters.ts';
import { RunOfActor } from '../parts/actor-link.tsx';
import { formatCount, plainLine } from '../parts/format.ts';
import { Id } from '../parts/id.tsx';
import { CellText, LongJson } from '../parts/long-text.tsx';
import { ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Status } from '../parts/status.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { TimeAgo } from '../parts/time.tsx';
import { ActorHistory } from './actor-history.tsx';
import { ActorMailbox } from './actor-mailbox.tsx';
import { Facts } from './run/head.tsx';

/** Asks for an address. */
export function ActorsPage() {
  const [address, setAddress] = useState('');
  const navigate = useNavigate();
  const parts = address.trim().split('/');
  const [kind, id] = [parts[0], parts.at(-1)];
  return (
    <>
      <PageHead title="Actors" />
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault();
          if (kind && id && parts.length > 1) void navigate({ to: '/actors/$kind/$id', params: { kind, id } });
        }}
      >
        <label className="field">
          Address of an actor
          <input
            value={address}
            size={60}
            placeholder="execution/ID, workflow/ID, approval/ID, or kind/tenant/ID"
            onChange={(event) => setAddress(event.target.value)}
          />
        </label>
        <button type="submit" className="primary" disabled={parts.length < 2}>
          Open
        </button>
      </form>
      <p className="quiet">
        Each run, trace and dead letter links to its actors: begin with the <Link to="/runs">runs</Link> or the{' '}
        <Link to="/traces">traces</Link>.
      </p>
    </>
  );
}

/** One actor: its state, mailbox, timers and open effects now. */
export function ActorPage() {
  const { kind = '', id = '' } = useParams({ strict: false });
  const read = useQuery({
    queryKey: ['actor', kind, id],
    queryFn: () => api.actors.get({ kind, id }),
    refetchInterval: listRefreshMs,
  });
  const [{ tab = '' }] = useFilters();
  const actor = read.data;
  if (actor === undefined) {
    return (
      <>
        <PageHead title={`Actor ${kind} ${id}`} />
        <ReadState of={read} what="the actor" />
      </>
    );
  }
  return (
    <>
      <PageHead title={`Actor ${kind}`} note={<Id id={id} length={36} />}>
        <RunOfActor kind={kind} id={id} />
      </PageHead>
      {actor.stuck !== null && (
        <p className="notice notice-bad">
          Stuck: {plainLine(actor.stuck.message_type)} failed {actor.stuck.attempts} times:{' '}
          <CellText text={actor.stuck.error} name="error" />
        </p>
      )}
      <Facts
        facts={[
          ['Revision', formatCount(actor.revision)],
          ['Partition', plainLine(actor.partition)],
          ['Pool', plainLine(actor.pool)],
          [
            'Node',
            actor.node === null ? (
              actor.archived ? (
                'archived'
              ) : (
                'none serves it'
              )
            ) : (
              <Id key="node" id={actor.node} length={12} />
            ),
          ],
          ['Messages waiting', formatCount(actor.mailbox.depth)],
          ['Oldest message', <TimeAgo key="oldest" at={actor.mailbox.oldest_at} />],
        ]}
      />
      {actor.timers.length > 0 && (
        <PlainTable
          label="Timers"
          rows={actor.timers}
          rowKey={({ name }) => name}
          columns={[
            ['Timer', ({ name }) => plainLine(name)],
            ['Due', ({ due_at }) => <TimeAgo at={due_at} />],
          ]}
        />
      )}
      {actor.effects.length > 0 && (
        <PlainTable
          label="Open effects"
          rows={actor.effects}
          rowKey={({ effect_id }) => effect_id}
          columns={[
            ['Effect', ({ kind: of }) => plainLine(of ?? '')],
            ['Status', ({ status }) => <Status status={status} />],
            ['Attempt', ({ attempt }) => attempt],
            ['Node', ({ node }) => plainLine(node ?? '')],
            ['Next try', ({ retry_at }) => <TimeAgo at={retry_at} />],
            ['Last error', ({ last_error }) => plainLine(last_error?.message ?? '')],
          ]}
        />
      )}
      <Tabs
        label="Parts of the actor"
        tabs={[
          ['state', 'State now'],
          ['mailbox', 'Waiting messages'],
          ['history', 'History'],
        ]}
      />
      {tab === 'mailbox' && <ActorMailbox kind={kind} id={id} />}
      {tab === 'history' && <ActorHistory kind={kind} id={id} />}
      {tab === '' && actor.state_omitted === true && (
        <p className="quiet">{formatCount(actor.state_chars)} characters: too long to show.</p>
      )}
      {tab === '' && actor.state_omitted !== true && <LongJson value={actor.state} name="state" className="tall" />}
    </>
  );
}
