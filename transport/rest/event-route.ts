import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ActorEvent } from '../../runtime/client.ts';
import { SvcError } from '../../runtime/errors.ts';
import { CallerHeaders } from '../../usecases/operations/schemas/fields.ts';
import { AccessWatch } from '../access-watch.ts';
import { type OpenStream, streamOwner } from '../open-streams.ts';
import type { RestParts } from './parts.ts';
import { type ProblemStyle, problemBody } from './problem.ts';
import { admitAgain, callerOf } from './request-context.ts';

/**
 * An event number. At most 15 digits, so that every number is exact in JavaScript. An empty value counts as missing.
 */
const EventNumber = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,14})?$/, 'must be the number of an event')
  .optional();

export const ACCESS_ENDED =
  'When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event ' +
  'type `access_ended`: `{"access_ended": {"code", "message"}}`.';

export const STREAM_DESCRIPTION =
  'Server-sent events: each record is unnamed, its `id` is the number of the event, its data one JSON object whose ' +
  'one key names the event. Ends after the last event; a request after the last event of an ended execution answers ' +
  `204, so that an EventSource stops. ${ACCESS_ENDED}`;

/** Parameters and answers that all routes with an event stream share. */
export const streamSchema = (record: z.ZodObject) => ({
  headers: CallerHeaders.extend({
    'last-event-id': EventNumber.describe('Number of the last event that the client has; the stream resumes after it.'),
  }),
  querystring: z.object({
    last_event_id: EventNumber.describe('Same as the header Last-Event-ID, for clients that cannot set headers.'),
  }),
  response: {
    200: { description: 'The stream.', content: { 'text/event-stream': { schema: record } } },
    204: z.undefined().describe('The execution has ended and all its events were seen.'),
  },
});

/** Options of routes with an event stream. Heartbeats come from the source, so they too wait for a slow client. */
export const streamOptions = (style: ProblemStyle) => ({
  exposeHeadRoute: false,
  // `only` also accepts curl's `Accept: */*`.
  sse: { kind: 'only', heartbeat: false } as const,
  preSerialization: async (_request: FastifyRequest, reply: FastifyReply, payload: unknown) =>
    reply.statusCode === 406 ? problemBody(new SvcError('not_acceptable'), style) : payload,
});

/** The source of one execution's events. */
interface EventSource {
  /** Throws `not_found`. */
  hasEnded(): Promise<boolean>;
  events(after: number, limit: number): Promise<ActorEvent[]>;
  follow(
    after: number,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): AsyncIterable<ActorEvent | null>;
}

/**
 * Whether the client has read the whole stream. Throws `not_found`, and `invalid_argument` for a number beyond the last
 * event.
 */
async function nothingLeft(source: EventSource, after: number): Promise<boolean> {
  if (await source.hasEnded()) return (await source.events(after, 1)).length === 0;
  // A stream after an event that was never sent would silently skip the events before it.
  if (after > 0 && (await source.events(after - 1, 1)).length === 0) {
    throw new SvcError('invalid_argument', 'Last-Event-ID: this execution has no event with that number yet');
  }
  return false;
}

/** The number of the last event that the client has read. */
export const afterOf = (header: string | undefined, query: string | undefined): number => Number(header || query || 0);

/** The parts that a route with a stream needs. */
type StreamParts = Pick<RestParts, 'streams' | 'limits' | 'authenticator'>;

/** Streams the events after `after` to the last one; answers 204 when the client has read all. */
export async function serveEvents(
  parts: StreamParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { source, after }: { readonly source: EventSource; readonly after: number },
): Promise<undefined> {
  if (await nothingLeft(source, after)) return reply.code(204).send();
  return serveRecords(parts, request, reply, async (options) => recordsOf(source.follow(after, options)));
}

async function* recordsOf(events: AsyncIterable<ActorEvent | null>): AsyncGenerator<string | null> {
  for await (const event of events) yield event === null ? null : eventRecord(event);
}

/**
 * Opens a stream for the caller and writes records to it; null stands for a heartbeat. `open` may refuse by throwing.
 * Ends the stream when the caller's access ends.
 */
export async function serveRecords(
  { streams, limits, authenticator }: StreamParts,
  request: FastifyRequest,
  reply: FastifyReply,
  open: (options: {
    readonly signal: AbortSignal;
    readonly heartbeatMs: number;
  }) => Promise<AsyncIterable<string | null>>,
): Promise<undefined> {
  using stream = streams.open(streamOwner(callerOf(request)));
  using access = new AccessWatch(stream, {
    recheckMs: limits.recheckMs,
    admit: () => admitAgain(authenticator, request),
  });
  const records = await open({ signal: stream.signal, heartbeatMs: limits.heartbeatMs });
  reply.sse.sendHeaders();
  try {
    await writeRecords(records, reply.raw, stream, limits);
    if (access.refusal !== null) reply.raw.write(accessEndedRecord(access.refusal));
  } catch (error) {
    // The answer has begun, so no error can be sent; the last record asked the client to reconnect.
    request.log.warn({ err: error, trace: request.trace }, 'an event stream ended early; its client reconnects');
  }
  return undefined;
}

const HEARTBEAT = ': heartbeat\n\n';

/** An event as an unnamed record: one JSON object whose only key names the event (H12). JSON keeps it on one line. */
const eventRecord = (event: ActorEvent): string =>
  `id: ${event.seq}\ndata: ${JSON.stringify({ [event.name]: event.payload })}\n\n`;

/** The record that tells a client when to reconnect. Sent when a stream stops before its last event. */
const retryRecord = (reconnectMs: number): string => `retry: ${reconnectMs}\n\n`;

/**
 * The last record of a stream whose caller has no access any more. It has an event type, so that readers of unnamed
 * records do not take it for an event, and no id: a later reader with access resumes after the last event.
 */
const accessEndedRecord = ({ code, message }: SvcError): string =>
  `event: access_ended\ndata: ${JSON.stringify({ access_ended: { code, message } })}\n\n`;

interface EventStreamLimits {
  readonly drainTimeoutMs: number;
  readonly reconnectMs: number;
}

/**
 * Writes records to a client until the last one is written, the client is gone or too slow, or the server closes. Holds
 * at most one event that the socket does not accept: it reads the next one only when the client has read on. An error
 * of the source is thrown after a record that asks the client to reconnect.
 */
async function writeRecords(
  records: AsyncIterable<string | null>,
  client: ServerResponse,
  stream: OpenStream,
  limits: EventStreamLimits,
): Promise<void> {
  client.once('close', () => stream.stop('client_gone'));
  if (client.destroyed) stream.stop('client_gone');
  client.flushHeaders();
  try {
    for await (const record of records) {
      if (stream.signal.aborted) break;
      await write(client, record ?? HEARTBEAT, stream, limits.drainTimeoutMs);
    }
  } catch (error) {
    if (!stream.signal.aborted) {
      client.write(retryRecord(limits.reconnectMs));
      throw error;
    }
  }
  if (stream.signal.reason === 'server_closing' || stream.signal.reason === 'unchecked')
    client.write(retryRecord(limits.reconnectMs));
}

async function write(client: ServerResponse, text: string, stream: OpenStream, drainTimeoutMs: number): Promise<void> {
  if (client.write(text)) return;
  const slow = setTimeout(() => {
    stream.stop('too_slow');
    // Drops the unread data with the connection; the client can resume by event id.
    client.destroy();
  }, drainTimeoutMs);
  try {
    await once(client, 'drain', { signal: stream.signal });
  } finally {
    clearTimeout(slow);
  }
}
