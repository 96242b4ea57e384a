import type { InfiniteData } from '@tanstack/react-query';
import { useEffect } from 'react';
import { StreamCutError, SvcApiError } from '../../clients/typescript/client.ts';
import type { FeedEvent } from '../../clients/typescript/gen/operations.ts';
import { api, queries, setLive } from './queries.ts';
import type { Run } from './runs.ts';

type RunPages = InfiniteData<{ readonly rows: readonly Run[] }>;

const TOPICS = ['run', 'approval', 'node'] as const;

const RECONNECT_MS = 1_000;
/** Changes within this time are collected into one read of each list. */
const GATHER_MS = 700;

/** Id of the last record, after which the feed resumes without a gap. */
let place: string | undefined;
/** Number of pages with a stream of their own: a page holds one connection. */
let holds = 0;
const listeners = new Set<() => void>();

const tell = (): void => {
  for (const listener of listeners) listener();
};

/** Pauses the feed while a page follows one run by its own stream. Returns a function that resumes it. */
export function holdFeed(): () => void {
  holds += 1;
  tell();
  return () => {
    holds -= 1;
    tell();
  };
}

/**
 * Follows the changes of the node while the page is visible, and reads the changed lists again. `topics`: names separated by
 * spaces; an empty text follows nothing.
 */
export function useFeed(topics: string, tenant: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tenant has another feed, from its beginning.
  useEffect(() => {
    place = undefined;
    let stop: AbortController | null = null;
    const look = (): void => {
      const isWanted = topics !== '' && document.visibilityState === 'visible' && holds === 0;
      if (isWanted === (stop !== null)) return;
      stop?.abort();
      stop = isWanted ? new AbortController() : null;
      if (stop !== null) follow(topics.split(' '), stop.signal).catch(() => setLive(false));
      else setLive(false);
    };
    look();
    listeners.add(look);
    document.addEventListener('visibilitychange', look);
    return () => {
      listeners.delete(look);
      document.removeEventListener('visibilitychange', look);
      stop?.abort();
      setLive(false);
    };
  }, [topics, tenant]);
}

/** Reads until the signal; continues after a lost connection. Ends when the node refuses: pages then read at intervals. */
async function follow(topics: readonly string[], signal: AbortSignal): Promise<void> {
  const topic = TOPICS.filter((one) => topics.includes(one));
  while (!signal.aborted) {
    try {
      for await (const record of api.feed.stream({ topic }, { signal, lastEventId: place, resume: false })) {
        place = record.place;
        setLive(true);
        changed(record.event);
      }
    } catch (error) {
      setLive(false);
      if (signal.aborted) return;
      if (error instanceof SvcApiError && error.status < 500) throw error;
      const waitMs = error instanceof StreamCutError ? error.retryAfterMs : RECONNECT_MS;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

let gathered: Map<string, readonly string[]> | null = null;
const changedRuns = new Map<string, Run>();

/** Marks the lists that a change makes outdated. They are read again a moment later, once for many changes. */
function changed(event: FeedEvent): void {
  if (gathered === null) {
    gathered = new Map();
    setTimeout(() => {
      const keys = [...(gathered?.values() ?? [])];
      gathered = null;
      putIntoPages();
      for (const queryKey of keys) queries.invalidateQueries({ queryKey }).catch(() => setLive(false));
    }, GATHER_MS);
  }
  if ('run' in event) changedRuns.set(event.run.id, event.run);
  for (const key of oldBy(event)) gathered.set(key.join('/'), key);
}

/** Rows far down a list are not read again; their changes replace them in place. */
function putIntoPages(): void {
  queries.setQueriesData<RunPages>({ queryKey: ['runs', 'pages'] }, (before) => {
    if (before === undefined) return undefined;
    const pages = before.pages.map((page) =>
      page.rows.some(({ id }) => changedRuns.has(id))
        ? { ...page, rows: page.rows.map((run) => changedRuns.get(run.id) ?? run) }
        : page,
    );
    return { ...before, pages };
  });
  changedRuns.clear();
}

function oldBy(event: FeedEvent): (readonly string[])[] {
  if ('reset' in event || 'open' in event) return [['runs', 'head'], ['overview'], ['approvals'], ['nodes']];
  if ('node' in event) return [['nodes'], ['cluster']];
  if ('approval' in event) return [['approvals'], ['approval', event.approval.id]];
  if ('run' in event || 'run_left' in event || 'run_removed' in event) return [['runs', 'head'], ['overview']];
  return [];
}
