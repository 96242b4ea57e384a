import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { CliFailure, EXIT } from './failure.ts';
import { isObject, type JsonObject, parseJson } from './json.ts';
import type { NodeClient } from './node-client.ts';

export interface ExecutionEvent {
  /** 1, 2, 3 … without a gap. */
  readonly id: number;
  readonly name: string;
  readonly payload: JsonObject;
  /** The event unchanged: JSON on one line. */
  readonly data: string;
}

interface FollowOptions {
  /** Resumes after this event. */
  readonly after: number;
  /** Stops following, without an error. */
  readonly signal: AbortSignal;
  /** Called once for each lost connection, before the first attempt to reconnect. */
  readonly onCut?: (reason: string) => void;
  /** How long a node may be unreachable before following fails. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 60_000;

/** Three missed heartbeats. */
const SILENCE_MS = 45_000;

/** A stream that stayed open this long counts as healthy, even without events. */
const HEALTHY_MS = 5_000;

const FIRST_DELAY_MS = 100;

const MAX_DELAY_MS = 2_000;

const LAST_EVENTS: ReadonlySet<string> = new Set(['execution_completed', 'execution_failed']);

export const isLastEvent = (event: ExecutionEvent): boolean => LAST_EVENTS.has(event.name);

/** An event stream of the node, and how to recognise its last event. */
export interface EventSource {
  readonly path: string;
  readonly isLast: (event: ExecutionEvent) => boolean;
}

export const executionStream = (executionId: string): EventSource => ({
  path: `/v1/executions/${encodeURIComponent(executionId)}/stream`,
  isLast: isLastEvent,
});

/** Events of an agent's execution until its last one (see `followEvents`). */
export const followExecution = (client: NodeClient, executionId: string, options: FollowOptions) =>
  followEvents(client, executionStream(executionId), options);

/**
 * Events until the last one, each exactly once. After a lost connection or a restart of the node it resumes after the
 * last event seen. Throws `CliFailure` when the node stays unreachable or refuses.
 */
export async function* followEvents(
  client: NodeClient,
  { path, isLast }: EventSource,
  { after, signal, onCut, patienceMs = PATIENCE_MS }: FollowOptions,
): AsyncGenerator<ExecutionEvent, void, undefined> {
  let last = after;
  let awaySince: number | null = null;
  let connected = false;
  let delayMs = 0;
  while (!signal.aborted) {
    let cut = 'the stream ended early';
    let openedAt = Number.POSITIVE_INFINITY;
    try {
      const body = await client.stream(path, last, signal);
      if (body === null) return;
      connected = true;
      openedAt = performance.now();
      for await (const record of eventRecords(body, SILENCE_MS)) {
        awaySince = null;
        delayMs = 0;
        const event = eventOf(record.id, record.data);
        if (event === null || event.id <= last) continue;
        last = event.id;
        yield event;
        if (isLast(event)) return;
      }
    } catch (thrown) {
      if (signal.aborted) return;
      if (thrown instanceof CliFailure && (thrown.exitCode !== EXIT.connection || !connected)) throw thrown;
      cut = thrown instanceof Error ? thrown.message : cut;
    }
    if (signal.aborted) return;
    const now = performance.now();
    if (now - openedAt > HEALTHY_MS) awaySince = null;
    awaySince ??= now;
    if (now - awaySince > patienceMs) {
      throw new CliFailure(EXIT.connection, `gave up following after ${patienceMs / 1_000} s: ${cut}`);
    }
    if (delayMs === 0) onCut?.(cut);
    delayMs = Math.min(MAX_DELAY_MS, Math.max(FIRST_DELAY_MS, delayMs * 2));
    await pause(delayMs, undefined, { signal }).catch(() => undefined);
  }
}

function eventOf(id: string, data: string): ExecutionEvent | null {
  const object = parseJson(data);
  const [entry] = isObject(object) ? Object.entries(object) : [];
  if (entry === undefined) return null;
  const [name, payload] = entry;
  return { id: Number(id), name, payload: isObject(payload) ? payload : {}, data };
}

/** One server-sent event: its `id` and its `data` lines. */
interface EventRecord {
  readonly id: string;
  readonly data: string;
}

const MAX_RECORD_CHARS = 32 * 1024 * 1024;

/**
 * Records of an event stream without its comments. Throws after `silenceMs` without data or a heartbeat, since a dead peer
 * does not close its connection.
 */
export async function* eventRecords(body: Readable, silenceMs: number): AsyncGenerator<EventRecord, void, undefined> {
  const decoder = new TextDecoder();
  const pieces: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  let rest = '';
  try {
    for (;;) {
      const piece = await beforeSilence(pieces.next(), silenceMs);
      if (piece.done === true) return;
      rest += decoder.decode(piece.value, { stream: true }).replaceAll('\r\n', '\n');
      if (rest.length > MAX_RECORD_CHARS) throw new Error(`an event is larger than ${MAX_RECORD_CHARS} characters`);
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const record = recordOf(block);
        if (record !== null) yield record;
      }
    }
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ECONNRESET')
      throw new Error('terminated', { cause: thrown });
    throw thrown;
  } finally {
    body.destroy();
  }
}

function recordOf(block: string): EventRecord | null {
  let id = '';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('id:')) id = line.slice(3).trim();
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return data.length === 0 ? null : { id, data: data.join('\n') };
}

async function beforeSilence<T>(read: Promise<T>, silenceMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`silent for ${silenceMs / 1_000} s`)), silenceMs);
  });
  try {
    return await Promise.race([read, silence]);
  } finally {
    clearTimeout(timer);
  }
}
