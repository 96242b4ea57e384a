import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { SvcError } from '../errors.ts';
import { systemCode } from '../kit/system-code.ts';

/** More than most messages take, so that a node that is ready again has space for more than the next one. */
const TRIED_BYTES = 65_536;

const TRY_EVERY_MS = 1_000;

interface DiskWatchParts {
  readonly clock: Clock;
  /** Writes a test value and waits until it is on disk. */
  readonly tryToWrite: () => Promise<void>;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Whether the disk accepts writes (K10). A failed write only triggers a test write: when that succeeds, the failed one was too
 * large or the fault is over. While test writes fail, the node is not ready, and one more is made each second, since a node
 * that is not ready may get no calls that would write.
 */
export class DiskWatch {
  readonly #parts: DiskWatchParts;
  #refusal: string | null = null;
  #isTrying = false;
  #isClosed = false;
  #stop: () => void = () => {};

  constructor(parts: DiskWatchParts) {
    this.#parts = parts;
  }

  /** Why nothing can be stored; null when it can. Shown to any caller: it names no files. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** Call it when a write failed. */
  failed(): void {
    if (this.#isTrying || this.#isClosed) return;
    this.#isTrying = true;
    void this.#try();
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  async #try(): Promise<void> {
    const { clock, tryToWrite, warn } = this.#parts;
    const failure = await tryToWrite().then(() => null, reasonOf);
    if (this.#isClosed) return;
    if (failure === null) {
      if (this.#refusal !== null) warn('the data directory can be written again', undefined);
      this.#refusal = null;
      this.#isTrying = false;
      return;
    }
    if (this.#refusal === null) warn(`nothing can be stored: ${failure}`, undefined);
    this.#refusal = `nothing can be stored, so starts and deploys are refused: ${failure}`;
    this.#stop = clock.after(TRY_EVERY_MS, () => void this.#try());
  }
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof SvcError) return thrown.message;
  const code = systemCode(thrown);
  return `the data directory cannot be written (${code})`;
}

/** Writes a file into a folder of the data directory, removes it, and commits to the store: all on the disk of the data. */
export function tryingIn(folder: string, commit: () => Promise<void>): () => Promise<void> {
  const path = join(folder, 'room');
  return async () => {
    try {
      const file = await open(path, 'w', 0o600);
      try {
        await file.writeFile(new Uint8Array(TRIED_BYTES));
        await file.sync();
      } finally {
        await file.close();
      }
    } finally {
      await rm(path, { force: true });
    }
    await commit();
  };
}
