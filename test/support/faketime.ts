import { existsSync, globSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';

const LIBRARY = '/usr/lib/*/faketime/libfaketimeMT.so.1';

/** False when wall clocks of processes can be set; else why not. With CI=true a missing library is an error. */
export function faketimeMissing(): string | false {
  const found = globSync(LIBRARY).some((path) => existsSync(path));
  if (found) return false;
  const reason =
    'libfaketime is not installed: tests that set a wall clock are skipped (Debian: apt-get install faketime)';
  if (process.env.CI === 'true') throw new Error(reason);
  process.stderr.write(`SKIPPED: ${reason}\n`);
  return reason;
}

/** The wall clock of a process, which a test can set while it runs; the monotonic clock is unchanged. */
export class FakeWallClock {
  readonly #file: string;
  /** Environment of the process. */
  readonly env: Readonly<Record<string, string>>;

  /** `file`: path of a file that belongs to this clock. */
  constructor(file: string) {
    this.#file = file;
    this.env = {
      LD_PRELOAD: globSync(LIBRARY)[0] ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Offset from the machine's clock, in seconds. */
  async set(aheadS: number): Promise<void> {
    const draft = `${this.#file}.draft`;
    await writeFile(draft, `${aheadS < 0 ? '' : '+'}${aheadS}\n`);
    await rename(draft, this.#file);
  }
}
