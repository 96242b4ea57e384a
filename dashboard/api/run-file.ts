import { api } from './queries.ts';

const SECOND = 1_000;

/** Reads the recording of a run and saves it as the file that `svc open` and `svc replay` read. */
export async function saveRun(id: string): Promise<void> {
  const { head, actors } = await api.recordings.run({ id });
  const lines: string[] = [JSON.stringify({ ...head, recorded_at: new Date().toISOString() })];
  for (const address of actors) {
    const [kind = '', , name = ''] = address.split('/');
    for (let next: string | undefined; ; ) {
      const page = await api.recordings.actor({ kind, id: name, next });
      for (const line of page.lines) lines.push(JSON.stringify(line));
      if (page.next === null) break;
      next = page.next;
    }
  }
  lines.push(JSON.stringify({ end: lines.length + 1 }));
  const text = new Blob([`${lines.join('\n')}\n`]);
  const packed = await new Response(text.stream().pipeThrough(new CompressionStream('gzip'))).blob();
  saveFile(packed, `${id}.svcrun`);
}

/** Offers a file as a download. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The download reads it after this task.
  setTimeout(() => URL.revokeObjectURL(url), 60 * SECOND);
}
