import { dirname, join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { readToken, tokenOf } from '../../runtime/documents/pages.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { OneAtATime } from '../../runtime/kit/queues.ts';
import type { SecretStore } from '../api.ts';
import { dropDrafts } from './record-file.ts';
import { SecretFiles } from './secret-files.ts';
import {
  checkSecretPath,
  checkSecretValue,
  MOST_SECRETS,
  requireKeeper,
  secretNotFound,
  TENANTS,
} from './secret-rules.ts';

/**
 * Secrets in the files that `createFileSecrets` reads, on this node only, mode 0600, written atomically. For operators in the
 * node's own tenant, and for administrators in theirs; not for service accounts.
 */
export function createFileSecretStore(parts: {
  readonly directory: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Log of changes, without values. */
  readonly audit: (event: Readonly<Record<string, string | null>>, message: string) => void;
}): SecretStore {
  const { directory, clock } = parts;
  const changes = new OneAtATime();
  let isTidy = false;
  /** Deletes drafts of killed processes: in the directory of each change, and everywhere before the first change. */
  const dropped = async (tenant: string, path: string): Promise<void> => {
    const root = tenant === SYSTEM_TENANT ? directory : join(directory, TENANTS, tenant);
    if (isTidy) return dropDrafts(dirname(join(root, path)), clock.now(), false);
    await dropDrafts(directory, clock.now(), true);
    isTidy = true;
  };
  const filesOf = (identity: Identity): SecretFiles => {
    requireKeeper(identity);
    const { tenant } = identity;
    if (tenant === SYSTEM_TENANT) return new SecretFiles(directory, [TENANTS]);
    return new SecretFiles(join(directory, TENANTS, tenant), []);
  };
  const said = (event: string, { tenant, subject }: Identity, path: string): void =>
    parts.audit({ event, tenant, path, by: subject }, 'secret');

  return {
    async put(identity, path, value, expect) {
      const files = filesOf(identity);
      checkSecretPath(identity.tenant, path);
      checkSecretValue(value);
      return changes.run(async () => {
        await dropped(identity.tenant, path);
        const known = await files.get(path);
        if (known !== null && expect === 'absent') throw new SvcError('conflict', 'the secret exists already');
        if (known === null && expect === 'present') throw secretNotFound();
        if (known === null && (await files.paths('', MOST_SECRETS)).length >= MOST_SECRETS) {
          throw new SvcError('limit_reached', `at most ${MOST_SECRETS} secrets of a tenant; delete one first`);
        }
        const view = await files.put(path, value, { at: new Date(clock.now()).toISOString(), by: identity.subject });
        said(known === null ? 'SecretCreated' : 'SecretRotated', identity, path);
        return view;
      });
    },

    async get(identity, path) {
      const found = await filesOf(identity).get(checkSecretPath(identity.tenant, path));
      if (found === null) throw secretNotFound();
      return found;
    },

    async list(identity, prefix, page) {
      const files = filesOf(identity);
      const what = ['secrets', identity.tenant, prefix];
      const [after] = readToken(what, page) ?? [];
      const limit = Math.min(page.limit, MOST_SECRETS);
      const behind = await files.paths(prefix, limit + 1, typeof after === 'string' ? after : '');
      const paths = behind.slice(0, limit);
      const last = behind.length > limit ? paths.at(-1) : undefined;
      const found = await Promise.all(paths.map((path) => files.get(path)));
      // A secret that was deleted in the meantime has no view.
      const items = found.filter((view) => view !== null);
      return { items, ...(last === undefined ? {} : { next_page_token: tokenOf(what, [last]) }) };
    },

    async remove(identity, path, version) {
      const files = filesOf(identity);
      checkSecretPath(identity.tenant, path);
      const isRemoved = await changes.run(async () => {
        await dropped(identity.tenant, path);
        return files.remove(path, version);
      });
      if (!isRemoved) throw secretNotFound();
      said(version === undefined ? 'SecretDeleted' : 'SecretVersionDeleted', identity, path);
    },
  };
}
