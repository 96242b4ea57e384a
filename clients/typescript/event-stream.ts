/** One record of a stream of server-sent events. */
export interface StreamedEvent<Event> {
  /** Number of the event: 1, 2, 3 … without gaps. */
  readonly id: number;
  readonly event: Event;
}

/**
 * Records of an event stream in their order; comments (heartbeats) are skipped. A record that the stream cut off is
 * dropped, as the HTML standard says. Leaving the loop cancels the stream.
 */
export async function* eventsOf<Event>(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamedEvent<Event>, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const records = (rest + value).replaceAll('\r\n', '\n').split('\n\n');
      rest = records.pop() ?? '';
      for (const record of records) {
        const { id, data } = fieldsOf(record);
        if (data !== '') yield { id: Number(id), event: JSON.parse(data) };
      }
    }
  } finally {
    await reader.cancel();
  }
}

function fieldsOf(record: string): { readonly id: string; readonly data: string } {
  const data: string[] = [];
  let id = '';
  for (const line of record.split('\n')) {
    const [, name, value = ''] = /^(id|data):? ?(.*)$/.exec(line) ?? [];
    if (name === 'id') id = value;
    if (name === 'data') data.push(value);
  }
  return { id, data: data.join('\n') };
}
