import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFile } from './keys/file-keys.ts';

/** Name of the file in the data directory. */
export const LOCAL_TOKEN_FILE = 'local-token';
/** Beside it: a page that opens the dashboard with the token. */
const DASHBOARD_PAGE_FILE = 'dashboard.html';
const TOKEN_BYTES = 32;

/**
 * Creates the token of this start and writes it to a file of mode 0600 in the data directory. Null when calls need no token
 * (`spec.iam.local: open`) or an identity provider issues them (`realms`). The files of an earlier start are always removed, so
 * that clients do not send an outdated token. Throws `invalid_config`.
 */
export async function openLocalToken(
  dataDir: string,
  iam: { readonly local: 'open' | 'token'; readonly realms: readonly unknown[] },
): Promise<string | null> {
  const path = join(dataDir, LOCAL_TOKEN_FILE);
  await rm(path, { force: true });
  await rm(join(dataDir, DASHBOARD_PAGE_FILE), { force: true });
  if (iam.local === 'open' || iam.realms.length > 0) return null;
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  await makePrivateFile(path, `${token}\n`);
  return token;
}

/**
 * Writes a page, mode 0600, that opens the dashboard signed in, for those who may read the token. It is in the
 * fragment of the address, which browsers do not send, and the dashboard removes it from there. A program that opens the
 * page has the path among its arguments, which other users see, and not the token. Throws `invalid_config`.
 * @returns its path
 */
export async function writeDashboardPage(dataDir: string, restUrl: string, token: string): Promise<string> {
  const path = join(dataDir, DASHBOARD_PAGE_FILE);
  const address = JSON.stringify(`${restUrl}/#token=${token}`);
  await makePrivateFile(
    path,
    `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>svc</title><script>location.replace(${address})</script>\n`,
  );
  return path;
}
