import { setTimeout as pause } from 'node:timers/promises';

export interface SeenEvent {
  readonly seq: number;
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Date.now() when the client read it. */
  readonly atMs: number;
}

interface FollowerParts {
  /** Address of the node that is up; rejects while none is. */
  url(): Promise<string>;
  readonly onEvent: (event: SeenEvent) => void;
  readonly signal: AbortSignal;
}

/** Events of one execution that a client received over all its connections. */
export interface Followed {
  readonly events: readonly SeenEvent[];
  /** Connections that brought at least one event. */
  readonly connections: number;
}

const AGAIN_MS = 10;

/**
 * A client that follows the specification: it follows `/stream`, reconnects with Last-Event-ID after each break, and ends at
 * 204 or after the last event. It checks that ids increase by one over all connections.
 */
export async function followExecution(id: string, parts: FollowerParts): Promise<Followed> {
  const events: SeenEvent[] = [];
  let connections = 0;
  for (;;) {
    parts.signal.throwIfAborted();
    const before = events.length;
    const ended = await connectOnce(id, events, parts);
    if (events.length > before) connections += 1;
    if (ended) return { events, connections };
    // The client's own delay before it reconnects, like that of an EventSource.
    await pause(AGAIN_MS);
  }
}

/** Reads the stream over one connection until that breaks. Returns whether the stream has ended, so that no reconnect is needed. */
async function connectOnce(id: string, events: SeenEvent[], parts: FollowerParts): Promise<boolean> {
  const last = events.at(-1)?.seq ?? 0;
  let response: Response;
  try {
    response = await fetch(`${await parts.url()}/v1/executions/${id}/stream`, {
      headers: { accept: 'text/event-stream', ...(last === 0 ? {} : { 'last-event-id': String(last) }) },
      signal: parts.signal,
    });
  } catch {
    return false;
  }
  if (response.status === 204) return true;
  if (response.status === 503) return false;
  if (response.status !== 200 || response.body === null) {
    const body = await response.text().catch(() => '');
    throw new Error(`${id}: the stream behind event ${last} answered ${response.status} ${body}`);
  }
  try {
    let rest = '';
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      const records = (rest + text).split('\n\n');
      rest = records.pop() ?? '';
      for (const record of records) take(id, record, events, parts);
    }
  } catch (error) {
    if (error instanceof WrongSequence) throw error;
    // The node died under the connection.
  }
  return isFinal(events.at(-1));
}

class WrongSequence extends Error {
  override readonly name = 'WrongSequence';
}

function take(id: string, record: string, events: SeenEvent[], parts: FollowerParts): void {
  const seq = Number(/^id: (\d+)$/m.exec(record)?.[1]);
  const data = /^data: (.*)$/m.exec(record)?.[1];
  if (data === undefined) return;
  const expected = (events.at(-1)?.seq ?? 0) + 1;
  if (seq !== expected) throw new WrongSequence(`${id}: event ${seq} came where ${expected} was expected`);
  const parsed: unknown = JSON.parse(data);
  const [entry] = Object.entries(parsed ?? {});
  if (entry === undefined || typeof entry[1] !== 'object' || entry[1] === null) {
    throw new WrongSequence(`${id}: event ${seq} is no object with one key`);
  }
  const event = { seq, name: entry[0], payload: { ...entry[1] }, atMs: Date.now() };
  events.push(event);
  parts.onEvent(event);
}

export const isFinal = (event: Pick<SeenEvent, 'name'> | undefined): boolean =>
  event?.name === 'execution_completed' || event?.name === 'execution_failed';
