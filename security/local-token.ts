import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFile } from './keys/file-keys.ts';

/** Name of the file in the data directory. */
export const LOCAL_TOKEN_FILE = 'local-token';
const TOKEN_BYTES = 32;

/**
 * Creates the token of this start and writes it to a file of mode 0600 in the data directory. Null when calls need no token
 * (`spec.iam.local: open`) or an identity provider issues them (`realms`). The file of an earlier start is always removed, so
 * that clients do not send an outdated token. Throws `invalid_config`.
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
