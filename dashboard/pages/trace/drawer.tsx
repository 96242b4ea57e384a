import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import type { Message } from '../../../clients/typescript/gen/operations.ts';
import { api } from '../../api/queries.ts';
import { useFilters } from '../../app/use-filters.ts';
import { ActorLink } from '../../parts/actor-link.tsx';
import { formatCount, formatDuration, plainLine } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { CellText, LongJson } from '../../parts/long-text.tsx';
import { ReadState } from '../../parts/notice.tsx';
import { PlainTable } from '../../parts/plain-table.tsx';
import { Status } from '../../parts/status.tsx';
import { ClockTime } from '../../parts/time.tsx';
import type { TraceModel } from '../../trace/model.ts';
import { StateChange } from './state-change.tsx';
import type { TraceView } from './use-trace.ts';

interface DrawerProps {
  readonly view: TraceView;
  readonly select: (delivery: number) => void;
  readonly isRunning: boolean;
}

/** The selected message: payload, outcome, and the changes that it made. */
export function TraceDrawer({ view, select, isRunning }: DrawerProps) {
  const [, setFilters] = useFilters();
  const { model, selected, flow } = view;
  const id = model.idOf(selected);
  const type = plainLine(model.name(model.type.at(selected)) ?? '', 80);
  return (
    <aside id="trace-drawer" className="trace-drawer" aria-label={`Message ${type}`} tabIndex={-1}>
      <header>
        <h2>{type}</h2>
        <button type="button" className="plain" aria-label="Close" onClick={() => select(-1)}>
          ✕
        </button>
      </header>
      <div className="trace-drawer-facts">
        <Status status={model.outcomeOf(selected).replace('-', '_')} label={model.outcomeOf(selected)} />
        <Id id={id} length={13} />
      </div>
      <div className="actions">
        <button
          type="button"
          aria-pressed={flow === 'causes'}
          onClick={() => setFilters({ flow: flow === 'causes' ? '' : 'causes' }, true)}
        >
          Why did this happen
        </button>
        <button
          type="button"
          aria-pressed={flow === 'effects'}
          onClick={() => setFilters({ flow: flow === 'effects' ? '' : 'effects' }, true)}
        >
          What did this cause
        </button>
      </div>
      <Facts view={view} select={select} />
      <EffectList view={view} />
      <InFull id={id} isRunning={isRunning} />
      <StateChange address={model.name(model.to.at(selected)) ?? ''} messageId={id} />
    </aside>
  );
}

function Facts({ view: { model, selected }, select }: Pick<DrawerProps, 'view' | 'select'>) {
  const cause = model.causeOf(selected);
  const effects = model.effectsOf(selected);
  const from = model.name(model.from.at(selected));
  const rows: readonly (readonly [string, ReactNode])[] = [
    ['To', <ActorLink key="to" address={model.name(model.to.at(selected)) ?? ''} />],
    ['From', from === null ? 'a client or an effect' : <ActorLink key="from" address={from} />],
    ['Appended', <ClockTime key="at" at={new Date(model.time.at(selected)).toISOString()} />],
    ['After', formatDuration(model.time.at(selected) - model.startedAt)],
    ['Waited', formatDuration(model.wait.at(selected))],
    ['Turn', formatDuration(model.turn.at(selected))],
    ['Node', plainLine(model.name(model.node.at(selected)) ?? 'not recorded', 60)],
    ['Epoch', `${model.epoch.at(selected)}${model.takeover.at(selected) === 1 ? ' (first after a takeover)' : ''}`],
    ['Attempt', String(model.attempt.at(selected))],
    [
      'Cause',
      cause === -1 ? 'none: the root' : <MessageButton key="cause" model={model} one={cause} select={select} />,
    ],
    [
      'Effects',
      effects.length === 0 ? (
        'none'
      ) : (
        <ul key="effects">
          {effects.slice(0, 12).map((one) => (
            <li key={one}>
              <MessageButton model={model} one={one} select={select} />
            </li>
          ))}
          {effects.length > 12 && <li className="quiet">and {formatCount(effects.length - 12)} more</li>}
        </ul>
      ),
    ],
  ];
  return (
    <dl className="trace-facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="figures">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function MessageButton({
  model,
  one,
  select,
}: {
  readonly model: TraceModel;
  readonly one: number;
  readonly select: (delivery: number) => void;
}) {
  return (
    <button type="button" className="plain link" onClick={() => select(one)}>
      {plainLine(model.name(model.type.at(one)) ?? '', 60)}{' '}
      <span className="quiet">{formatDuration(model.time.at(one) - model.startedAt)}</span>
    </button>
  );
}

/** Effects that the turn requested. */
function EffectList({ view: { model, selected } }: Pick<DrawerProps, 'view'>) {
  const { starts, items } = model.effectLanes;
  const lane = model.to.at(selected);
  const message = model.message.at(selected);
  const own = [...items.subarray(starts[lane], starts[lane + 1])].filter(
    (one) => model.effects.message.at(one) === message,
  );
  if (own.length === 0) return null;
  return (
    <section>
      <h3>Asked for</h3>
      <ul>
        {own.slice(0, 20).map((one) => {
          const isOpen = Number.isNaN(model.effects.endedAt.at(one));
          const took = formatDuration(model.effectEnd(one) - model.effectStart(one));
          const node = model.name(model.effects.node.at(one));
          return (
            <li key={one}>
              {plainLine(model.name(model.effects.kind.at(one)) ?? 'effect', 60)}{' '}
              <span className="quiet figures">
                {isOpen ? 'open' : took}, attempt {model.effects.attempt.at(one)}
                {node !== null && ` on ${plainLine(node, 40)}`}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Data that is read from the node: payload, attempts. */
function InFull({ id, isRunning }: { readonly id: string; readonly isRunning: boolean }) {
  const read = useQuery({
    queryKey: ['message', id],
    queryFn: () => api.messages.get({ id }),
    staleTime: isRunning ? 1_000 : 60_000,
  });
  if (read.data === undefined) return <ReadState of={read} what="the message" />;
  return (
    <>
      <Attempts message={read.data} />
      <Payload message={read.data} />
    </>
  );
}

function Attempts({ message: { attempts } }: { readonly message: Message }) {
  if (attempts.length < 2 && attempts[0]?.error == null) return null;
  return (
    <section>
      <h3>Attempts</h3>
      <PlainTable
        label="Attempts"
        rows={attempts}
        rowKey={({ attempt, at }) => `${attempt} ${at}`}
        columns={[
          ['#', ({ attempt }) => attempt],
          ['At', ({ at }) => <ClockTime at={at} />],
          [
            'Outcome',
            ({ outcome, error }) => (
              <>
                {outcome}
                {error !== null && ': '}
                {error !== null && <CellText text={error} name="error" />}
              </>
            ),
          ],
          ['Turn', ({ turn_ms }) => formatDuration(turn_ms)],
          ['Epoch', ({ epoch }) => epoch],
        ]}
      />
    </section>
  );
}

function Payload({ message }: { readonly message: Message }) {
  const title = useId();
  const { payload, payload_chars: chars, origin, caller } = message;
  return (
    <section aria-labelledby={title}>
      <h3 id={title}>Payload</h3>
      <p className="quiet">
        {formatCount(chars)} characters, from {/^[aeiou]/.test(origin) ? `an ${origin}` : `a ${origin}`}
        {caller !== null && `, on a call of ${plainLine(caller.subject, 60)}`}
      </p>
      {message.payload_omitted === true ? (
        <p>It is larger than 1 MiB and not shown.</p>
      ) : (
        <LongJson value={payload} name="payload" />
      )}
    </section>
  );
}
