import { useSyncExternalStore } from 'react';
import type { Column } from './data-table.tsx';
import { formatDuration, formatRelative } from './format.ts';

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

/** One clock for all ages on a page, so that they change together. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
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

/** How long ago a moment was; the time itself on hover. */
export function TimeAgo({ at }: { readonly at: string | null | undefined }) {
  const current = useNow();
  if (at === null || at === undefined) return <span className="quiet">–</span>;
  return (
    <time dateTime={at} title={bothTimes(at)}>
      {formatRelative(Date.parse(at) - current)}
    </time>
  );
}

/** The time of day with milliseconds; date and UTC on hover. */
export function ClockTime({ at }: { readonly at: string }) {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  return (
    <time dateTime={at} title={bothTimes(at)} className="figures">
      {two(date.getHours())}:{two(date.getMinutes())}:{two(date.getSeconds())}.
      {String(date.getMilliseconds()).padStart(3, '0')}
    </time>
  );
}

/** Time between two moments; it counts on while there is no end. */
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

/** Columns of lists: when something began, and how long it took or takes already. */
export const STARTED: Column<Begun> = {
  key: 'started',
  label: 'Started',
  width: '88px',
  wide: true,
  cell: ({ started_at }) => <TimeAgo at={started_at} />,
};

export const TOOK: Column<Begun> = {
  key: 'took',
  label: 'Took',
  width: '88px',
  cell: ({ started_at, ended_at }) => <Duration from={started_at} to={ended_at} />,
};
