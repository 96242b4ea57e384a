import { useSyncExternalStore } from 'react';
import { TIMES, type Times, useChoice } from '../app/choices.ts';
import { nodeNow } from '../app/node-answers.ts';
import type { Column } from './data-table.tsx';
import { formatDuration, formatRelative } from './format.ts';

let now = nodeNow();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

/** One clock for all ages on a page, so that they change at the same time. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // Nothing has moved it while no page showed a time.
  if (timer === null) now = nodeNow();
  timer ??= setInterval(() => {
    now = nodeNow();
    for (const one of listeners) one();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Local and UTC time of a moment, for a tooltip. */
const bothTimes = (at: string): string => `${local.format(new Date(at))} local\n${at} UTC`;

/** A moment in ISO 8601: in UTC, with `Z` at the end, or in local time. */
function isoIn(times: Times, at: string): string {
  const date = new Date(at);
  if (times === 'utc') return date.toISOString();
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().replace('Z', '');
}

/** A time in the format that the user chose: age, local time or UTC. Both times on hover. */
export function TimeAgo({ at }: { readonly at: string | null | undefined }) {
  const current = useNow();
  const times = useChoice(TIMES);
  if (at === null || at === undefined) return <span className="quiet">–</span>;
  return (
    <time dateTime={at} title={bothTimes(at)}>
      {times === 'ago'
        ? formatRelative(Date.parse(at) - current)
        : isoIn(times, at).replace('T', ' ').replace(/\.\d+/, '')}
    </time>
  );
}

/** The time of day with milliseconds, in UTC where the user chose that, else in local time; date and both times on hover. */
export function ClockTime({ at }: { readonly at: string }) {
  const times = useChoice(TIMES);
  return (
    <time dateTime={at} title={bothTimes(at)} className="figures">
      {isoIn(times, at).slice('2026-01-31T'.length)}
    </time>
  );
}

/** Time between two moments; it increases while there is no end. */
export function Duration({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  const current = useNow();
  if (from === null) return <span className="quiet">–</span>;
  const end = to === null ? current : Date.parse(to);
  return <span className="figures">{formatDuration(Math.max(0, end - Date.parse(from)))}</span>;
}

interface Begun {
  readonly started_at: string;
  readonly ended_at: string | null;
}

/** Columns of lists: start and duration, which increases while the run is running. */
export const STARTED: Column<Begun> = {
  key: 'started',
  label: 'Started',
  width: 'var(--time-width)',
  wide: true,
  cell: ({ started_at }) => <TimeAgo at={started_at} />,
};

export const TOOK: Column<Begun> = {
  key: 'took',
  label: 'Took',
  width: '88px',
  cell: ({ started_at, ended_at }) => <Duration from={started_at} to={ended_at} />,
};
