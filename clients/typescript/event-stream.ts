/** One record of a stream of server-sent events. */
export interface StreamedEvent<Event> {
  /** Number of the event: 1, 2, 3 … without gaps. */
  readonly id: number;
  /** The whole id: `lastEventId` of the call that resumes after this event. */
  readonly place: string;
  readonly event: Event;
}

/** The node ended a stream before its last event, because it stops or could not continue reading: resume it. */
export class StreamCutError extends Error {
  /** Id of the last event that was read: `lastEventId` of the call that resumes. */
  readonly lastEventId: number | string;
  /** Pause that the node asks for. */
  readonly retryAfterMs: number;

  constructor(lastEventId: number | string, retryAfterMs: number) {
    super(`the stream was cut after event ${lastEventId}: call again with it as lastEventId`);
    this.name = 'StreamCutError';
    this.lastEventId = lastEventId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The node ended a stream because its token or API key was revoked or has expired: resume it with another one. */
export class AccessEndedError extends Error {
  /** Id of the last event that was read: `lastEventId` of the call that resumes. */
  readonly lastEventId: number | string;

  constructor(lastEventId: number | string, reason: string) {
    super(`the caller has no access any more: ${reason}`);
    this.name = 'AccessEndedError';
    this.lastEventId = lastEventId;
  }
}

/**
 * Records of an event stream in their order; comments (heartbeats) are skipped. An incomplete record at the end is dropped, as
 * the HTML standard requires. Leaving the loop cancels the stream. Throws `StreamCutError` when the stream asks for a reconnect
 * at its end, `AccessEndedError` when the caller has no access any more, and an error when nothing arrived for `silenceMs`: the
 * node sends heartbeats, so the connection is lost.
 */
export async function* eventsOf<Event>(
  body: ReadableStream<Uint8Array>,
  silenceMs?: number,
): AsyncGenerator<StreamedEvent<Event>, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const records = new Records();
  let last: number | string = 0;
  let retryMs: number | null = null;
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read(), silenceMs);
      if (done) break;
      for (const record of records.add(decoder.decode(value, { stream: true }))) {
        const { id, data, retry, event } = fieldsOf(record);
        if (retry !== '') retryMs = Number(retry);
        if (data === '') continue;
        if (event === 'access_ended') throw new AccessEndedError(last, JSON.parse(data).access_ended.message);
        // The ids of most streams are only the number.
        const number = Number.parseInt(id, 10);
        last = String(number) === id ? number : id;
        yield { id: number, place: id, event: JSON.parse(data) };
      }
    }
  } finally {
    // A lost connection cannot be cancelled, which is no further error.
    await reader.cancel().catch(() => undefined);
  }
  if (retryMs !== null) throw new StreamCutError(last, retryMs);
}

/** Collects the pieces of a stream until a record is complete. A record of many pieces is searched once, not at each piece. */
class Records {
  #pieces: string[] = [];
  /** The last characters, where the end of a record may begin. */
  #end = '';

  /** The records that the piece completes. */
  add(piece: string): string[] {
    this.#pieces.push(piece);
    const fresh = this.#end + piece;
    this.#end = fresh.slice(-3);
    if (!/\n\r?\n/.test(fresh)) return [];
    const records = this.#pieces.join('').replaceAll('\r\n', '\n').split('\n\n');
    const rest = records.pop() ?? '';
    this.#pieces = [rest];
    this.#end = rest.slice(-3);
    return records;
  }
}

async function withinSilence<T>(read: Promise<T>, silenceMs: number | undefined): Promise<T> {
  if (silenceMs === undefined) return read;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`the stream was silent for ${silenceMs / 1_000} s`)), silenceMs);
  });
  try {
    return await Promise.race([read, silence]);
  } finally {
    clearTimeout(timer);
  }
}

interface Fields {
  readonly id: string;
  readonly data: string;
  readonly retry: string;
  readonly event: string;
}

function fieldsOf(record: string): Fields {
  const data: string[] = [];
  let [id, retry, event] = ['', '', ''];
  for (const line of record.split('\n')) {
    const [, name, value = ''] = /^(id|data|retry|event):? ?(.*)$/.exec(line) ?? [];
    if (name === 'id') id = value;
    if (name === 'retry') retry = value;
    if (name === 'event') event = value;
    if (name === 'data') data.push(value);
  }
  return { id, data: data.join('\n'), retry, event };
}
