import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** Layout of keys and values. Increase it when a change cannot be read by functions of the former version. */
const LAYOUT_VERSION = 1;

/**
 * The functions of one release. The name contains the layout and a digest of the code, so nodes of two releases work
 * side by side and neither replaces the functions that the other calls (K3).
 */
export interface FunctionLibrary {
  readonly name: string;
  readonly code: string;
}

/**
 * Reads functions/*.lua: first the files that begin with `_` (shared parts), then one file for each function or family.
 */
export function readLibrary(): FunctionLibrary {
  const folder = new URL('./functions/', import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith('.lua'));
  // `_prelude` holds what all other files use, `_commit_parts` included.
  const rank = (file: string): string =>
    file === '_prelude.lua' ? '0' : file.startsWith('_') ? `1${file}` : `2${file}`;
  files.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const body = files.map((file) => scoped(file, readFileSync(new URL(file, folder), 'utf8'))).join('\n');
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 8);
  const name = `svc_v${LAYOUT_VERSION}_${digest}`;
  return { name, code: `#!lua name=${name}\nlocal LIBRARY = '${name}'\n${body}` };
}

/** Encloses a file so that its locals stay private. Shared parts keep theirs visible to all. */
const scoped = (file: string, text: string): string => (file.startsWith('_') ? text : `do\n${text}\nend`);

/** Loads the library where it is missing. */
export async function loadLibrary(servers: readonly Redis[], library: FunctionLibrary): Promise<void> {
  await Promise.all(
    servers.map(async (server) => {
      try {
        await server.call('FUNCTION', 'LOAD', library.code);
      } catch (error) {
        // The name contains the digest, so a library with this name is the same library.
        if (!(error instanceof Error && error.message.includes('already exists'))) throw error;
      }
    }),
  );
}
