import { randomBytes, timingSafeEqual } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFile } from './keys/file-keys.ts';

/** Name of the file in the data directory. */
export const LOCAL_TOKEN_FILE = 'local-token';
const TOKEN_BYTES = 32;

/**
 * The token of this start, written to a file of mode 0600 in the data directory, for whoever may read there; null where
 * calls need none (`spec.iam.local: open`) or an identity provider gives them (`realms`). The file of an earlier start
 * is removed in any case: a client must not send a token that nobody asks for. Throws `invalid_config`.
 */
export async function openLocalToken(
  dataDir: string,
  iam: { readonly local: 'open' | 'token'; readonly realms: readonly unknown[] },
): Promise<string | null> {
  const path = join(dataDir, LOCAL_TOKEN_FILE);
  await rm(path, { force: true });
  if (iam.local === 'open' || iam.realms.length > 0) return null;
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  await makePrivateFile(path, `${token}\n`);
  return token;
}

/** Takes the same time wherever the two differ. */
export function isLocalToken(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
