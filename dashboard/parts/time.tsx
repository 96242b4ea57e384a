import { useSyncExternalStore } from 'react';
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

const useNow = (): number => useSyncExternalStore(subscribe, () => now);

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

/** Time between two moments; it counts on while there is no end. */
export function Duration({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  const current = useNow();
  if (from === null) return <span className="quiet">–</span>;
  const end = to === null ? current : Date.parse(to);
  return <span className="figures">{formatDuration(Math.max(0, end - Date.parse(from)))}</span>;
}
