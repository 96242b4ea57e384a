import type { Redis } from 'ioredis';

/** How often a stream is looked at within the time in which it may be silent. */
const LOOKS = 6;

/** A client of Redis, which has one stream after another. */
type Client = Pick<Redis, 'on' | 'stream' | 'commandQueue'>;

/**
 * Looks after each stream that a client opens. When calls wait and the server sends nothing for `silenceMs`, the stream
 * is ended. Null: silence is usual.
 */
export function lookAfterStreams(client: Client, silenceMs: number | null): void {
  let stop = (): void => {};
  client.on('connect', () => {
    stop();
    readAtOnce(client.stream);
    stop = silenceMs === null ? () => {} : endWhenSilent(client, silenceMs);
  });
  client.on('close', () => stop());
}

/**
 * Lets the client library have each chunk at once. Node does not know that the library listens, because of the way in
 * which it begins to: it would keep the chunk until the next tick and read it from there.
 */
function readAtOnce(stream: Client['stream']): void {
  const nothing = (): void => {};
  stream.on('data', nothing);
  stream.off('data', nothing);
}

/** The library has a setting for this (`socketTimeout`), which makes a timer and a listener for each call. */
function endWhenSilent(client: Client, silenceMs: number): () => void {
  const { stream } = client;
  const everyMs = silenceMs / LOOKS;
  let [read, readAt, lookedAt] = [stream.bytesRead, performance.now(), performance.now()];
  const look = (): void => {
    const now = performance.now();
    // After a late look there may be answers that this process had no time to read.
    const isLate = now - lookedAt > 2 * everyMs;
    lookedAt = now;
    if (isLate || client.commandQueue.length === 0 || stream.bytesRead !== read) {
      [read, readAt] = [stream.bytesRead, now];
      return;
    }
    // A call may have begun to wait right after the last look.
    if (now - readAt > silenceMs + everyMs) stream.destroy(new Error(`the server sent nothing for ${silenceMs} ms`));
  };
  const timer = setInterval(look, everyMs).unref();
  return () => clearInterval(timer);
}
