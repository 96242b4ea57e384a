import { dirname, join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { OneAtATime } from '../../runtime/kit/queues.ts';
import type { SecretStore } from '../api.ts';
import { ADMIN_ROLE, allows, isTenantSlug } from '../tenant.ts';
import { dropDrafts } from './record-file.ts';
import { SecretFiles } from './secret-files.ts';

const MAX_SECRET_BYTES = 65_000;

const MOST_SECRETS = 1_000;

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
    const root = tenant === SYSTEM_TENANT ? directory : join(directory, 'tenants', tenant);
    if (isTidy) return dropDrafts(dirname(join(root, path)), clock.now(), false);
    await dropDrafts(directory, clock.now(), true);
    isTidy = true;
  };
  const filesOf = (identity: Identity): SecretFiles => {
    requireKeeper(identity);
    const { tenant } = identity;
    if (tenant === SYSTEM_TENANT) return new SecretFiles(directory, ['tenants']);
    if (!isTenantSlug(tenant)) throw new SvcError('forbidden');
    return new SecretFiles(join(directory, 'tenants', tenant), []);
  };
  const said = (event: string, { tenant, subject }: Identity, path: string): void =>
    parts.audit({ event, tenant, path, by: subject }, 'secret');

  return {
    async put(identity, path, value, expect) {
      const files = filesOf(identity);
      checkSecretPath(identity.tenant, path);
      checkValue(value);
      return changes.run(async () => {
        await dropped(identity.tenant, path);
        const known = await files.get(path);
        if (known !== null && expect === 'absent') throw new SvcError('conflict', 'the secret exists already');
        if (known === null && expect === 'present') throw notFound();
        if (known === null && (await files.list('', MOST_SECRETS)).length >= MOST_SECRETS) {
          throw new SvcError('limit_reached', `at most ${MOST_SECRETS} secrets of a tenant; delete one first`);
        }
        const view = await files.put(path, value, { at: new Date(clock.now()).toISOString(), by: identity.subject });
        said(known === null ? 'SecretCreated' : 'SecretRotated', identity, path);
        return view;
      });
    },

    async get(identity, path) {
      const found = await filesOf(identity).get(checkSecretPath(identity.tenant, path));
      if (found === null) throw notFound();
      return found;
    },

    async list(identity, { prefix, limit }) {
      return filesOf(identity).list(prefix, Math.min(limit, MOST_SECRETS));
    },

    async remove(identity, path, version) {
      const files = filesOf(identity);
      checkSecretPath(identity.tenant, path);
      const isRemoved = await changes.run(async () => {
        await dropped(identity.tenant, path);
        return files.remove(path, version);
      });
      if (!isRemoved) throw notFound();
      said(version === undefined ? 'SecretDeleted' : 'SecretVersionDeleted', identity, path);
    },
  };
}

function requireKeeper(identity: Identity): void {
  const { kind, roles } = identity;
  if (kind === 'local' || (kind === 'operator' && allows(identity, 'operate'))) return;
  if (kind === 'tenant_user' && roles.includes(ADMIN_ROLE)) return;
  throw new SvcError('forbidden', 'Only operators and administrators of a tenant can manage secrets.');
}

function checkValue(value: string): void {
  const wrong = (text: string): SvcError => new SvcError('invalid_argument', `value: ${text}`, { field: 'value' });
  if (value === '') throw wrong('expected a value');
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES) throw wrong(`expected at most ${MAX_SECRET_BYTES} bytes`);
  if (!value.isWellFormed()) throw wrong('expected Unicode text');
}

const notFound = (): SvcError => new SvcError('not_found', 'secret not found');

const PART = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$/;

const MAX_PATH_CHARS = 200;

const MAX_PARTS = 8;

/** Directory of the other tenants, in that of the node's own tenant. */
const TENANTS = 'tenants';

/**
 * Throws `invalid_argument` unless all parts of the path are letters, digits, dots, dashes and underscores. So no path leaves the
 * directory, is hidden, or names an earlier version, which contains an `@`.
 */
function checkSecretPath(tenant: string, path: string): string {
  const parts = path.split('/');
  if (path.length > MAX_PATH_CHARS || parts.length > MAX_PARTS || !parts.every((part) => PART.test(part))) {
    const parts = `${MAX_PARTS} parts of letters, digits, dots, dashes and underscores with slashes between them`;
    throw wrong(`expected at most ${parts}, at most ${MAX_PATH_CHARS} characters`);
  }
  if (tenant === SYSTEM_TENANT && parts[0] === TENANTS) throw wrong(`${TENANTS}/ holds the secrets of other tenants`);
  return path;
}

const wrong = (text: string): SvcError => new SvcError('invalid_argument', `path: ${text}`, { field: 'path' });
