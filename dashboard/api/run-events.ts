import { useEffect, useState } from 'react';
import { StreamCutError, SvcApiError } from '../../clients/typescript/client.ts';
import { holdFeed } from './feed.ts';
import { api, queries, setLive } from './queries.ts';
import type { RunKind } from './runs.ts';

/** One event of a run: number, name and payload. */
export interface RunEvent {
  readonly seq: number;
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Time of the event, or of the previous one where it has none. */
  readonly at: string;
}

interface RunEvents {
  readonly events: readonly RunEvent[];
  /** The last event was read. */
  readonly isOver: boolean;
  readonly error: unknown;
}

const NONE: RunEvents = { events: [], isOver: false, error: null };

const RECONNECT_MS = 1_000;

/** All events of a run, live. After a lost connection the stream continues with the next event, without loss or repeats. */
export function useRunEvents(kind: RunKind, id: string): RunEvents {
  const [read, setRead] = useState<RunEvents>(NONE);
  useEffect(() => {
    const stop = new AbortController();
    const letFeedGoOn = holdFeed();
    let waiting: RunEvent[] = [];
    let frame = 0;
    setRead(NONE);
    const flush = (): void => {
      const fresh = waiting;
      [waiting, frame] = [[], 0];
      setRead((before) => ({ ...before, events: [...before.events, ...fresh] }));
      if (fresh.some(({ name }) => name !== 'iteration_output')) readAgain(kind, id);
    };
    const push = (event: RunEvent): void => {
      waiting.push(event);
      frame ||= requestAnimationFrame(flush);
    };
    follow(kind, id, stop.signal, push).then(
      () => setRead((before) => ({ ...before, isOver: true })),
      (error: unknown) => {
        if (!stop.signal.aborted) setRead((before) => ({ ...before, error }));
      },
    );
    return () => {
      stop.abort();
      letFeedGoOn();
      cancelAnimationFrame(frame);
    };
  }, [kind, id]);
  return read;
}

/** Invalidates the other data on the page, which changes with the events. */
function readAgain(kind: RunKind, id: string): void {
  for (const queryKey of [
    [kind === 'execution' ? 'execution' : 'workflow-execution', id],
    ['why', kind, id],
    ['approval'],
  ])
    queries.invalidateQueries({ queryKey }).catch(() => setLive(false));
}

async function follow(kind: RunKind, id: string, signal: AbortSignal, push: (event: RunEvent) => void): Promise<void> {
  let last = 0;
  let at = '';
  for (;;) {
    try {
      const options = { signal, lastEventId: last === 0 ? undefined : last, resume: false } as const;
      const stream =
        kind === 'execution' ? api.executions.stream({ id }, options) : api.workflowExecutions.stream({ id }, options);
      for await (const { id: seq, event } of stream) {
        if (seq <= last) continue;
        last = seq;
        const read = eventOf(seq, event, at);
        at = read.at;
        push(read);
      }
      return;
    } catch (error) {
      if (signal.aborted || (error instanceof SvcApiError && error.status < 500)) throw error;
      const waitMs = error instanceof StreamCutError ? error.retryAfterMs : RECONNECT_MS;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

function eventOf(seq: number, event: object, before: string): RunEvent {
  const [name, value]: [string, unknown] = Object.entries(event)[0] ?? ['unknown', {}];
  const payload = typeof value === 'object' && value !== null ? { ...value } : {};
  const time = Object.entries(payload).find(([key, at]) => key.endsWith('_at') && typeof at === 'string')?.[1];
  return { seq, name, payload, at: typeof time === 'string' ? time : before };
}
