import { readFile } from 'node:fs/promises';

/** A file that a container needs to run an agent. */
export interface BootstrapFile {
  readonly name: string;
  readonly content: Buffer;
  readonly mode: number;
}

/** Read once: the script of this version. */
let script: Promise<Buffer> | undefined;

/** What the node puts beside an agent's program: `bootstrap.sh`, run as `sh bootstrap.sh PROMPT`. */
export async function bootstrapFiles(): Promise<readonly BootstrapFile[]> {
  script ??= readFile(new URL('./bootstrap.sh', import.meta.url));
  return [{ name: 'bootstrap.sh', content: await script, mode: 0o555 }];
}
