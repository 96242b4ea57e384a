import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AuditSink, SinkLine } from './sink-queue.ts';

interface FileSinkSettings {
  readonly path: string;
  readonly max_bytes: number;
  readonly keep: number;
}

/** Appends lines to a file of mode 0600 and syncs it. A file that would get too large is renamed to `PATH.1` first. */
export class FileSink implements AuditSink {
  readonly #settings: FileSinkSettings;
  #file: { readonly handle: FileHandle; size: number } | null = null;

  constructor(settings: FileSinkSettings) {
    this.#settings = settings;
  }

  async write(lines: readonly SinkLine[]): Promise<void> {
    const bytes = Buffer.from(lines.map(({ text }) => `${text}\n`).join(''));
    let file = this.#file ?? (await this.#open());
    if (file.size > 0 && file.size + bytes.length > this.#settings.max_bytes) {
      await this.#rotate();
      file = await this.#open();
    }
    try {
      await file.handle.writeFile(bytes);
      await file.handle.datasync();
      file.size += bytes.length;
    } catch (thrown) {
      // Opened again at the next attempt, with its true size.
      await this.close();
      throw thrown;
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.handle.close();
  }

  async #open(): Promise<{ readonly handle: FileHandle; size: number }> {
    const { path } = this.#settings;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const handle = await open(path, 'a', 0o600);
    const { size } = await handle.stat();
    this.#file = { handle, size };
    return this.#file;
  }

  /** `PATH` becomes `PATH.1`, `PATH.1` becomes `PATH.2`; the oldest one is removed. */
  async #rotate(): Promise<void> {
    const { path, keep } = this.#settings;
    await this.close();
    await rm(`${path}.${keep}`, { force: true });
    for (let index = keep - 1; index >= 0; index -= 1) {
      const from = index === 0 ? path : `${path}.${index}`;
      await rename(from, `${path}.${index + 1}`).catch((thrown: unknown) => {
        if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) throw thrown;
      });
    }
  }
}
