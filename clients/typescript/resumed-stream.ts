import { AccessEndedError, eventsOf, StreamCutError, type StreamedEvent } from './event-stream.ts';

/** How a stream is opened again. */
export interface Resumable {
  /** Opens the stream after an event; null when it has ended and all its events were seen. Throws for a refusal. */
  readonly open: (after: number | string | undefined) => Promise<ReadableStream<Uint8Array> | null>;
  /** Whether a refusal is temporary: the node stops, starts, or accepts no calls for a moment. */
  readonly mayPass: (refusal: unknown) => boolean;
  /** Whether the next request may carry another token than the one whose access ended. */
  readonly renewsToken: boolean;
  readonly after: number | string | undefined;
  readonly signal: AbortSignal | undefined;
  /** How long the node may be unreachable. */
  readonly patienceMs: number;
}

/** Three missed heartbeats of the node. */
const SILENCE_MS = 45_000;
/** A connection that was open for this long was healthy, even without events. */
const HEALTHY_MS = 5_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2_000;

/**
 * The events of a stream, each once and in order, over as many connections as necessary. The first connection is not retried: a
 * refusal, or an unreachable node, is thrown at once.
 */
export async function* resumed<Event>(stream: Resumable): AsyncGenerator<StreamedEvent<Event>, void, undefined> {
  const { signal } = stream;
  let last = stream.after;
  let isConnected = false;
  let awaySince: number | null = null;
  let delayMs = 0;
  for (;;) {
    let openedAt = Number.POSITIVE_INFINITY;
    let cut: unknown = new Error('the stream ended before its last event');
    try {
      const body = await stream.open(last);
      if (body === null) return;
      isConnected = true;
      openedAt = performance.now();
      for await (const event of eventsOf<Event>(body, SILENCE_MS)) {
        [awaySince, delayMs] = [null, 0];
        if (wasSeen(event.place, last)) continue;
        last = event.place;
        yield event;
      }
    } catch (thrown) {
      if (signal?.aborted === true || !isConnected || isFinal(thrown, stream)) throw thrown;
      cut = thrown;
    }
    const now = performance.now();
    if (now - openedAt > HEALTHY_MS) awaySince = null;
    awaySince ??= now;
    if (now - awaySince > stream.patienceMs) throw cut;
    delayMs = Math.min(LONGEST_DELAY_MS, Math.max(FIRST_DELAY_MS, delayMs * 2));
    // Random, so that readers that lost their connection at the same moment do not reconnect at the same moment.
    await pause(Math.max(delayMs, advisedMs(cut)) * (0.5 + Math.random() / 2), signal);
  }
}

/** Ids that are numbers alone count the events of the stream: a repeated one is skipped. */
function wasSeen(place: string, last: number | string | undefined): boolean {
  return /^\d+$/.test(place) && /^\d+$/.test(String(last)) && Number(place) <= Number(last);
}

function isFinal(thrown: unknown, { mayPass, renewsToken }: Resumable): boolean {
  if (thrown instanceof StreamCutError) return false;
  if (thrown instanceof AccessEndedError) return !renewsToken;
  // Invalid events would be repeated, and so would a permanent refusal. Every other failure is one of the connection.
  return thrown instanceof SyntaxError || !mayPass(thrown);
}

const advisedMs = (cut: unknown): number => (cut instanceof StreamCutError ? cut.retryAfterMs : 0);

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}
