import { useQuery } from '@tanstack/react-query';
import type { Node } from '../../../clients/typescript/gen/operations.ts';
import { api } from '../../api/queries.ts';
import { useFilters } from '../../app/use-filters.ts';
import { TextFilter } from '../../parts/filters.tsx';
import { counted, formatCount, plainLine, shortNode } from '../../parts/format.ts';
import { ReadState } from '../../parts/notice.tsx';
import { PlainTable } from '../../parts/plain-table.tsx';
import { RowLink } from '../../parts/row-link.tsx';
import { Status } from '../../parts/status.tsx';

type Plan = Awaited<ReturnType<typeof api.cluster.plan>>;

const valuesOf = (text: string | undefined): string[] => (text ?? '').split(',').filter((one) => one !== '');

/** The effects of nodes that leave or join. The plan is in the address, and nothing is changed. */
export function PlanSection({ nodes }: { readonly nodes: readonly Node[] }) {
  const [search, change] = useFilters();
  const without = valuesOf(search.without);
  const { count = '', tags = '' } = search;
  const isAsked = without.length > 0 || Number(count) > 0;
  const join = Number(count) > 0 ? [`tags=${tags},count=${count}`] : undefined;
  const plan = useQuery({
    queryKey: ['plan', without, join],
    queryFn: () => api.cluster.plan({ without: without.length === 0 ? undefined : without, join }),
    enabled: isAsked,
  });
  const toggle = (id: string): void => {
    const next = without.includes(id) ? without.filter((one) => one !== id) : [...without, id];
    change({ without: next.join(',') });
  };
  return (
    <section aria-labelledby="plan-title">
      <h2 id="plan-title">What if</h2>
      <div className="filters">
        <fieldset className="choices">
          <legend>Nodes that leave</legend>
          {nodes
            .filter(({ member }) => member)
            .map(({ node_id }) => (
              <label key={node_id} title={plainLine(node_id)}>
                <input type="checkbox" checked={without.includes(node_id)} onChange={() => toggle(node_id)} />{' '}
                {shortNode(node_id)}
              </label>
            ))}
        </fieldset>
        <TextFilter
          label="Nodes that join"
          value={count}
          placeholder="0"
          change={(value) => change({ count: value }, true)}
        />
        <TextFilter
          label="with tags"
          value={tags}
          placeholder="gpu,zone:eu"
          change={(value) => change({ tags: value }, true)}
        />
        {isAsked && (
          <button type="button" onClick={() => change({ without: '', count: '', tags: '' })}>
            Clear
          </button>
        )}
      </div>
      {isAsked && <ReadState of={plan} what="the plan" />}
      {!isAsked && <p className="quiet">Choose nodes that leave or join to see what would move. Nothing is changed.</p>}
      {plan.data !== undefined && isAsked && <PlanAnswer plan={plan.data} />}
    </section>
  );
}

const sharesText = (shares: Readonly<Record<string, number>>): string =>
  Object.entries(shares)
    .map(([pool, count]) => `${plainLine(pool)} ${formatCount(count)}`)
    .join(', ');

function PlanAnswer({ plan }: { readonly plan: Plan }) {
  const moves = plan.pools.flatMap(({ pool, moves: some }) => some.map((move) => ({ pool, ...move })));
  return (
    <>
      <p role="status">
        <b>
          {counted(plan.moved_partitions, 'partition', 'partitions')} with{' '}
          {counted(plan.moved_actors, 'actor', 'actors')} would move.
        </b>
      </p>
      <Consequences plan={plan} />
      <PlainTable
        label="Nodes after the change"
        rows={plan.nodes}
        rowKey={({ node_id }) => node_id}
        columns={[
          ['Node', ({ node_id }) => shortNode(node_id)],
          ['Change', ({ change }) => change],
          ['Tags', ({ tags }) => plainLine(tags.join(', '))],
          ['Partitions now', ({ before }) => sharesText(before)],
          ['Partitions then', ({ after }) => sharesText(after)],
        ]}
      />
      {moves.length > 0 && (
        <PlainTable
          label="Moves"
          rows={moves}
          rowKey={({ pool, from, to }) => `${pool} ${from} ${to}`}
          columns={[
            ['Pool', ({ pool }) => plainLine(pool)],
            ['From', ({ from }) => shortNode(from ?? 'no node')],
            ['To', ({ to }) => shortNode(to ?? 'no node')],
            ['Partitions', ({ partitions }) => <span className="figures">{formatCount(partitions)}</span>],
            ['Actors', ({ actors }) => <span className="figures">{formatCount(actors)}</span>],
          ]}
        />
      )}
    </>
  );
}

/** Pools, tags and runs that would have no node. */
function Consequences({ plan }: { readonly plan: Plan }) {
  const { waiting_runs: waiting, lost_tags: lost } = plan;
  const pools = plan.pools.filter(({ waiting_for }) => waiting_for !== null);
  if (pools.length === 0 && lost.length === 0) return null;
  return (
    <ul className="plan-lines">
      {pools.map(({ pool, waiting_for, was_served }) => (
        <li key={pool}>
          <Status status="waiting" label={`${plainLine(pool)}: ${plainLine(waiting_for?.reason ?? '')}`} />
          {!was_served && ' (already now)'}
        </li>
      ))}
      {lost.length > 0 && <li>No node would have the tags {plainLine(lost.join(', '))}.</li>}
      {waiting.count > 0 && (
        <li>
          {waiting.complete ? '' : 'At least '}
          {counted(waiting.count, 'unfinished run', 'unfinished runs')} would wait:{' '}
          {waiting.runs.map(({ id, kind, name }, at) => (
            <span key={id}>
              {at > 0 && ', '}
              <RowLink href={`/runs/${kind}/${id}`}>{plainLine(name)}</RowLink>
            </span>
          ))}
        </li>
      )}
    </ul>
  );
}
