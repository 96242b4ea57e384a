import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** Layout of keys and values. Grows when a change could not be read by functions of the former version. */
const LAYOUT_VERSION = 1;

/**
 * The functions of one release. The name carries the layout and a digest of the code, so nodes of two releases work
 * side by side and neither replaces what the other calls (K3).
 */
export interface FunctionLibrary {
  readonly name: string;
  readonly code: string;
}

/** Reads functions/*.lua: files that begin with `_` first (shared parts), then one file per function or family. */
export function readLibrary(): FunctionLibrary {
  const folder = new URL('./functions/', import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith('.lua'));
  // `_prelude` holds what all others use; `_commit_parts` uses it too.
  const rank = (file: string): string =>
    file === '_prelude.lua' ? '0' : file.startsWith('_') ? `1${file}` : `2${file}`;
  files.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const body = files.map((file) => scoped(file, readFileSync(new URL(file, folder), 'utf8'))).join('\n');
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 8);
  const name = `svc_v${LAYOUT_VERSION}_${digest}`;
  return { name, code: `#!lua name=${name}\nlocal LIBRARY = '${name}'\n${body}` };
}

/** Locals of a file stay its own; those of shared parts are for all. */
const scoped = (file: string, text: string): string => (file.startsWith('_') ? text : `do\n${text}\nend`);

/** Loads the library where it is missing. */
export async function loadLibrary(servers: readonly Redis[], library: FunctionLibrary): Promise<void> {
  await Promise.all(
    servers.map(async (server) => {
      try {
        await server.call('FUNCTION', 'LOAD', library.code);
      } catch (error) {
        // The name holds the digest: a library of this name is this library.
        if (!(error instanceof Error && error.message.includes('already exists'))) throw error;
      }
    }),
  );
}
