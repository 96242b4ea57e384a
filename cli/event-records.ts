/** One server-sent event: its `id` and its `data` lines. */
export interface EventRecord {
  readonly id: string;
  readonly data: string;
}

const MAX_RECORD_CHARS = 32 * 1024 * 1024;

/**
 * Records of an event stream, comments left out. Heartbeats reset the silence as data does: after `silenceMs` without
 * a byte it throws, since a dead peer closes nothing.
 */
export async function* eventRecords(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
): AsyncGenerator<EventRecord, void, undefined> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const piece = await beforeSilence(reader.read(), silenceMs);
      if (piece.done) return;
      rest += decoder.decode(piece.value, { stream: true }).replaceAll('\r\n', '\n');
      if (rest.length > MAX_RECORD_CHARS) throw new Error('an event is larger than any event may be');
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const record = recordOf(block);
        if (record !== null) yield record;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
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
