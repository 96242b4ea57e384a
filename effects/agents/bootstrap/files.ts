import { readFile } from 'node:fs/promises';
import { FirstUse } from '../../../runtime/first-use.ts';

/** A file that a container needs to run an agent. */
export interface BootstrapFile {
  readonly name: string;
  readonly content: Buffer;
  readonly mode: number;
}

/** The script of this version. */
const script = new FirstUse(() => readFile(new URL('./bootstrap.sh', import.meta.url)));

/** What the node puts beside an agent's program: `bootstrap.sh`, run as `sh bootstrap.sh PROMPT`. */
export async function bootstrapFiles(): Promise<readonly BootstrapFile[]> {
  return [{ name: 'bootstrap.sh', content: await script.get(), mode: 0o555 }];
}
