import { Link, useParams } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { TraceLink } from '../../../clients/typescript/gen/operations.ts';
import { useListedRun } from '../../api/run-list.ts';
import { hasEnded } from '../../api/runs.ts';
import { useFilters } from '../../app/use-filters.ts';
import { RunOfActor } from '../../parts/actor-link.tsx';
import { counted, formatCount, formatDuration } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { Empty, Failure, Loading } from '../../parts/notice.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { RunStatus } from '../../parts/status.tsx';
import { Duration } from '../../parts/time.tsx';
import type { Camera, Extent } from '../../trace/camera.ts';
import type { Found } from '../../trace/scene.ts';
import { stepIn } from '../../trace/selection.ts';
import type { Stage } from '../../trace/stage.ts';
import { TraceCanvas } from '../../trace/trace-canvas.tsx';
import type { TraceState } from '../../trace/trace-feed.ts';
import { TraceDrawer } from './drawer.tsx';
import { useTraceKeys } from './keys.ts';
import { DeliveryTable } from './table.tsx';
import { TraceActions, TraceToolbar } from './toolbar.tsx';
import { type TraceView, useTrace, useTraceView } from './use-trace.ts';

/** A trace as a space-time diagram: a lane for each actor, time to the right. */
export function TracePage() {
  const { id = '' } = useParams({ strict: false });
  return <OneTrace key={id} id={id} />;
}

function OneTrace({ id }: { readonly id: string }) {
  const state = useTrace(id);
  const view = useTraceView(id, state);
  const stage = useRef<Stage | null>(null);
  const fresh = useFresh(state);
  const root = useRoot(state);
  const { head, model, error } = state;
  return (
    <>
      <PageHead
        title={root.name === null ? 'Trace' : `Trace of ${root.name}`}
        note={<TraceNote id={id} state={state} outcome={root.outcome} />}
      >
        {fresh.count > 0 && (
          <button
            type="button"
            className="fresh"
            onClick={() => {
              fresh.taken();
              stage.current?.fit();
            }}
          >
            {formatCount(fresh.count)} new
          </button>
        )}
        <RunOfActor kind={root.kind} id={root.id} />
        {model.count > 0 && <TraceActions flow={view.flow} stage={stage} />}
      </PageHead>
      {head !== null && <Related links={head.links} />}
      {error !== null && <Failure error={error} retry={state.readOn} />}
      {head === null && error === null && <Loading what="the trace" />}
      {head !== null && model.count === 0 && <Empty title="You may not see any delivery of this trace." />}
      {model.count > 0 && <TraceBody state={state} view={view} stage={stage} />}
    </>
  );
}

/** The actor that got the first message, with its name where it is a run. */
function useRoot({ head, model }: TraceState): {
  readonly kind: string;
  readonly id: string;
  readonly name: string | null;
  readonly outcome: string | null;
} {
  const delivery = head === null || head.root === null ? -1 : model.find(head.root);
  const [kind = '', , id = ''] = (delivery === -1 ? '' : (model.name(model.to.at(delivery)) ?? '')).split('/');
  const isRun = kind === 'execution' || kind === 'workflow';
  const listed = useListedRun(id, { isOver: head !== null && hasEnded(head), isRun });
  return { kind, id, name: listed.data?.name ?? null, outcome: listed.data?.outcome ?? null };
}

const RELATIONS: Readonly<Record<TraceLink['relation'], string>> = {
  next: 'goes on in',
  previous: 'goes on from',
  run: 'is a call to the run of',
  call: 'has a run that was also called, or cancelled, by',
  forked_from: 'was forked from the run of',
};

/** Other traces that belong to this one: the rest of a long one, and calls such as the one that cancelled the run. */
function Related({ links }: { readonly links: readonly TraceLink[] }) {
  if (links.length === 0) return null;
  return (
    <ul className="trace-links" aria-label="Related traces">
      {links.map(({ trace_id, relation }) => (
        <li key={`${relation} ${trace_id}`}>
          This trace {RELATIONS[relation]}{' '}
          <Link to="/traces/$id" params={{ id: trace_id }}>
            trace {trace_id.slice(0, 12)}
          </Link>
        </li>
      ))}
    </ul>
  );
}

interface TraceNoteProps {
  readonly id: string;
  readonly state: TraceState;
  /** Of the run that the trace began with, where there is one. */
  readonly outcome: string | null;
}

function TraceNote({ id, state: { head, model, isReading }, outcome }: TraceNoteProps) {
  return (
    <span className="trace-note">
      <Id id={id} length={12} />
      {head !== null && <RunStatus status={head.status} outcome={outcome} />}
      {model.count > 0 && (
        <span className="figures">
          {head?.status === 'running' ? (
            <Duration from={head.started_at} to={null} />
          ) : (
            formatDuration(model.endedAt - model.startedAt)
          )}
          , {counted(model.count, 'delivery', 'deliveries')}
          {isReading && ' so far'}
        </span>
      )}
      {head?.kept_from !== undefined && <span>kept from {head.kept_from} on</span>}
    </span>
  );
}

/** Deliveries since the user last viewed all of them: the picture does not move automatically. */
function useFresh({ model, isReading }: TraceState): { readonly count: number; readonly taken: () => void } {
  const [seen, setSeen] = useState<number | null>(null);
  useEffect(() => {
    if (!isReading) setSeen((before) => before ?? model.count);
  }, [isReading, model]);
  return { count: seen === null ? 0 : model.count - seen, taken: () => setSeen(model.count) };
}

interface BodyProps {
  readonly state: TraceState;
  readonly view: TraceView;
  readonly stage: React.RefObject<Stage | null>;
}

function TraceBody({ state, view, stage }: BodyProps) {
  const [search, setFilters] = useFilters();
  const searchField = useRef<HTMLInputElement>(null);
  const { model, selected, order, hits, layout } = view;
  // The last selection: keys may come faster than the address is updated.
  const latest = useRef(selected);
  useEffect(() => {
    latest.current = selected;
  }, [selected]);
  const select = useCallback(
    (delivery: number, moves = true) => {
      latest.current = delivery;
      setFilters({ m: delivery === -1 ? '' : model.idOf(delivery) }, true);
      if (moves) stage.current?.reveal(delivery);
    },
    [setFilters, model, stage],
  );
  const pick = usePick(view, select);
  const stepHit = (step: 1 | -1): void => {
    if (hits.length > 0) select(stepIn(hits, latest.current, step));
  };
  useTraceKeys({
    stage,
    step: (step) => select(stepIn(order, latest.current, step)),
    follow: (way) => {
      const from = latest.current;
      if (from === -1) return;
      const next = way === 'cause' ? model.causeOf(from) : (model.effectsOf(from)[0] ?? -1);
      if (next !== -1) select(next);
    },
    open: () => document.getElementById('trace-drawer')?.focus(),
    back: () => {
      if ((search.flow ?? '') !== '') setFilters({ flow: '' }, true);
      else select(-1);
      document.querySelector<HTMLElement>('.trace-canvas canvas')?.focus();
    },
    search: () => searchField.current?.focus(),
    stepHit,
  });
  const onMove = useWindowInAddress();
  useFirstLook(view, stage);
  const isTable = search.view === 'table';
  const label = `Space-time view: ${counted(model.count, 'delivery', 'deliveries')} to ${counted(countLanes(layout.groups), 'actor', 'actors')}. The table has the same as text.`;
  return (
    <>
      <TraceToolbar view={view} searchField={searchField} stepHit={stepHit} traceId={state.head?.trace_id ?? ''} />
      <div className={`trace-body${selected === -1 ? '' : ' with-drawer'}`}>
        {isTable ? (
          <DeliveryTable view={view} select={(delivery) => select(delivery, false)} />
        ) : (
          <TraceCanvas content={view} label={label} stage={stage} pick={pick} onMove={onMove} />
        )}
        {selected !== -1 && <TraceDrawer view={view} select={select} isRunning={state.head?.status === 'running'} />}
      </div>
      <div className="trace-keys quiet">
        <p id="trace-keys">
          <kbd>w</kbd> <kbd>s</kbd> zoom, <kbd>a</kbd> <kbd>d</kbd> pan, <kbd>f</kbd> all, <kbd>←</kbd> <kbd>→</kbd>{' '}
          step, <kbd>↑</kbd> cause, <kbd>↓</kbd> effect, <kbd>Enter</kbd> open, <kbd>/</kbd> search, <kbd>n</kbd> next
          hit, <kbd>Esc</kbd> back
        </p>
        {!isTable && <Legend />}
      </div>
      <p className="unseen" role="status">
        {selected === -1 ? '' : `${model.name(model.type.at(selected)) ?? ''}, ${model.outcomeOf(selected)}`}
      </p>
    </>
  );
}

/** Legend of the shapes. */
const Legend = () => (
  <ul className="trace-legend" aria-label="Marks">
    <li>
      <span aria-hidden="true">◆</span> takeover
    </li>
    <li>
      <span aria-hidden="true" className="tone-waits">
        ○
      </span>{' '}
      tried again
    </li>
    <li>
      <span aria-hidden="true" className="tone-bad">
        ■
      </span>{' '}
      refused
    </li>
    <li>
      <span aria-hidden="true" className="tone-bad">
        ▲
      </span>{' '}
      dead letter
    </li>
  </ul>
);

const countLanes = (groups: readonly { readonly lanes: number }[]): number =>
  groups.reduce((sum, { lanes }) => sum + lanes, 0);

/** A click selects a delivery, or the message that requested an effect, or folds a group. */
function usePick({ model, layout }: TraceView, select: (delivery: number, moves?: boolean) => void) {
  const [{ fold = '' }, setFilters] = useFilters();
  const toggle = (name: string): void => {
    const toggled = new Set(fold.split(',').filter((one) => one !== ''));
    if (!toggled.delete(name)) toggled.add(name);
    setFilters({ fold: [...toggled].join(',') }, true);
  };
  return (found: Found | null): void => {
    if (found === null || found.kind === 'lane') select(-1);
    else if (found.kind === 'delivery') select(found.delivery, false);
    else if (found.kind === 'effect') {
      const message = model.effects.message.at(found.effect);
      select(message === -1 ? -1 : model.messages.last.at(message), false);
    } else if (found.kind === 'group') toggle(layout.groups[found.group]?.name ?? '');
  };
}

const SETTLED_MS = 400;

/** Keeps the window of time in the address, as milliseconds since the start. */
function useWindowInAddress(): (camera: Camera, extent: Extent) => void {
  const [, setFilters] = useFilters();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (camera, extent) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const isAll = camera.from <= extent.from && camera.to >= extent.to;
      const text = (time: number): string => String(Math.round((time - extent.from) * 1_000) / 1_000);
      setFilters({ w: isAll ? '' : `${text(camera.from)}~${text(camera.to)}` }, true);
    }, SETTLED_MS);
  };
}

/** Applies the address to the picture: the selected message once it has arrived, and the window once. */
function useFirstLook({ model, selected }: TraceView, stage: React.RefObject<Stage | null>): void {
  const [{ w = '', view = '' }] = useFilters();
  const asked = useRef({ window: w, selected: true });
  useEffect(() => {
    if (view === 'table') return;
    const [from, to] = asked.current.window.split('~').map(Number);
    const origin = model.startedAt;
    if (from !== undefined && to !== undefined && to > from && model.lastMoment - origin >= Math.min(from, to) - 1) {
      stage.current?.lookAt({ from: origin + from, to: origin + to });
      asked.current.window = '';
    }
    if (asked.current.selected && selected !== -1) {
      stage.current?.reveal(selected);
      asked.current.selected = false;
    }
  });
}
