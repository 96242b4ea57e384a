import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ActorEvent } from '../../runtime/client.ts';
import type { OpenStream } from '../open-streams.ts';

const HEARTBEAT = ': heartbeat\n\n';

/** Spec 2: an unnamed record, one JSON object whose one key names the event. JSON keeps it on one line. */
const eventRecord = (event: ActorEvent): string =>
  `id: ${event.seq}\ndata: ${JSON.stringify({ [event.name]: event.payload })}\n\n`;

/** Tells a client when to come back; sent where a stream stops before its last event. */
const retryRecord = (reconnectMs: number): string => `retry: ${reconnectMs}\n\n`;

export interface EventStreamLimits {
  readonly drainTimeoutMs: number;
  readonly reconnectMs: number;
}

/**
 * Writes events to a client until the last one, the client is gone, too slow, or the server closes. Never holds more
 * than one event beyond what the socket takes: the next is only asked for when the client has read on. Throws what the
 * source throws, after the client was told to come back.
 */
export async function writeEvents(
  events: AsyncIterable<ActorEvent | null>,
  client: ServerResponse,
  stream: OpenStream,
  limits: EventStreamLimits,
): Promise<void> {
  client.once('close', () => stream.stop('client_gone'));
  if (client.destroyed) stream.stop('client_gone');
  client.flushHeaders();
  try {
    for await (const event of events) {
      if (stream.signal.aborted) break;
      await write(client, event === null ? HEARTBEAT : eventRecord(event), stream, limits.drainTimeoutMs);
    }
  } catch (error) {
    if (!stream.signal.aborted) {
      client.write(retryRecord(limits.reconnectMs));
      throw error;
    }
  }
  if (stream.signal.reason === 'server_closing') client.write(retryRecord(limits.reconnectMs));
}

async function write(client: ServerResponse, text: string, stream: OpenStream, drainTimeoutMs: number): Promise<void> {
  if (client.write(text)) return;
  const slow = setTimeout(() => {
    stream.stop('too_slow');
    // What it did not read is dropped with the connection; it can resume by id.
    client.destroy();
  }, drainTimeoutMs);
  try {
    await once(client, 'drain', { signal: stream.signal });
  } finally {
    clearTimeout(slow);
  }
}
