import type { Clock } from '../../runtime/clock.ts';
import { type Page, type PageAsked, shownPage } from '../../runtime/documents/pages.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { OneAtATimePerKey } from '../../runtime/kit/queues.ts';
import type { SecretStore, Secrets, SecretView } from '../api.ts';
import type { KeyRing } from '../encryption/key-ring.ts';
import { LeasedValues } from './leased-values.ts';
import { type SecretDocument, type SecretDocuments, secretView } from './secret-documents.ts';
import {
  checkSecretPath,
  checkSecretValue,
  isSecretPath,
  MOST_SECRETS,
  requireKeeper,
  secretNotFound,
} from './secret-rules.ts';

const MAX_ATTEMPTS = 100;

const SECRET = 'secret:';

interface DocumentSecretsParts {
  readonly secrets: SecretDocuments;
  readonly ring: KeyRing;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Resolves every other reference, and files that are on this node only. */
  readonly files: Secrets;
  /** Paths of the node's own tenant that stay files: without them the store, or its keys, cannot be opened. */
  readonly needsFile: ReadonlySet<string>;
  readonly refreshMs: number;
  readonly leaseMs: number;
  /** Log of changes, without values. */
  readonly audit: (event: Readonly<Record<string, string | null>>, message: string) => void;
}

/**
 * Secrets in the document store, encrypted, the same for all nodes. For operators in the node's own tenant, and for
 * administrators in theirs; not for service accounts.
 */
export class DocumentSecrets implements SecretStore, Secrets {
  readonly #parts: DocumentSecretsParts;
  readonly #changes = new OneAtATimePerKey();
  readonly #values: LeasedValues;

  constructor(parts: DocumentSecretsParts) {
    this.#parts = parts;
    this.#values = new LeasedValues({ ...parts, read: (tenant, name) => this.#read(tenant, name) });
  }

  async resolve(tenant: string, reference: string): Promise<string> {
    if (reference.startsWith(SECRET)) {
      const value = await this.#stored(tenant, reference.slice(SECRET.length));
      if (value !== null) return value;
    }
    return this.#parts.files.resolve(tenant, reference);
  }

  async put(
    identity: Identity,
    path: string,
    value: string,
    expect: 'absent' | 'present' | 'any',
  ): Promise<SecretView> {
    this.#check(identity, path);
    checkSecretValue(value);
    const { tenant, subject } = identity;
    const { secrets, ring, clock } = this.#parts;
    return this.#changed(identity, path, async () => {
      const known = await secrets.get(tenant, path);
      if (known !== null && expect === 'absent') throw new SvcError('conflict', 'the secret exists already');
      if (known === null && expect === 'present') throw secretNotFound();
      if (known === null) await this.#requireRoom(tenant, path);
      const updated_at = new Date(clock.now()).toISOString();
      const texts = [{ version: (known?.current.version ?? 0) + 1, text: value }];
      const change = { created_at: known === null ? updated_at : known.created_at, updated_at, updated_by: subject };
      const written = await secrets.write(ring, { tenant, path, known }, texts, change);
      if (written === null) return null;
      this.#said(known === null ? 'SecretCreated' : 'SecretRotated', identity, path);
      return secretView(written);
    });
  }

  async get(identity: Identity, path: string): Promise<SecretView> {
    requireKeeper(identity);
    const found = await this.#parts.secrets.get(identity.tenant, checkSecretPath(identity.tenant, path));
    if (found === null) throw secretNotFound();
    return secretView(found);
  }

  async list(identity: Identity, prefix: string, page: PageAsked): Promise<Page<SecretView>> {
    requireKeeper(identity);
    const limit = Math.min(page.limit, MOST_SECRETS);
    return shownPage(await this.#parts.secrets.list(identity.tenant, prefix, { ...page, limit }), secretView);
  }

  async remove(identity: Identity, path: string, version?: number): Promise<void> {
    this.#check(identity, path);
    const { secrets } = this.#parts;
    await this.#changed(identity, path, async () => {
      const known: SecretDocument | null = await secrets.get(identity.tenant, path);
      if (known === null) throw secretNotFound();
      if (version !== undefined && !known.earlier.some((one) => one.version === version)) throw secretNotFound();
      return (await secrets.remove(known, version)) ? true : null;
    });
    this.#said(version === undefined ? 'SecretDeleted' : 'SecretVersionDeleted', identity, path);
  }

  #check(identity: Identity, path: string): void {
    requireKeeper(identity);
    checkSecretPath(identity.tenant, path);
    if (identity.tenant !== SYSTEM_TENANT || !this.#parts.needsFile.has(path)) return;
    const why = 'the settings need this secret to open the store: change its file in the data directory of each node';
    throw new SvcError('failed_precondition', why);
  }

  /** Runs a change until no other node was faster. `change` returns null when one was. */
  #changed<T>({ tenant }: Identity, path: string, change: () => Promise<T | null>): Promise<T> {
    return this.#changes.run(`${tenant}\n${path}`, async () => {
      try {
        for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
          const done = await change();
          if (done !== null) return done;
        }
      } finally {
        this.#values.forget(tenant);
      }
      throw new SvcError('unavailable', 'the secret is being changed by other nodes; try again', {
        retryAfterMs: 1_000,
      });
    });
  }

  async #requireRoom(tenant: string, path: string): Promise<void> {
    const { secrets } = this.#parts;
    if ((await secrets.count(tenant)) >= MOST_SECRETS) {
      throw new SvcError('limit_reached', `at most ${MOST_SECRETS} secrets of a tenant; delete one first`);
    }
    // As with files: a path is a secret or a folder.
    const taken = (text: string): SvcError => new SvcError('conflict', `path: ${text}`, { field: 'path' });
    if ((await secrets.list(tenant, `${path}/`, { limit: 1 })).items.length > 0)
      throw taken('there are secrets below this path');
    const parts = path.split('/');
    for (let n = 1; n < parts.length; n += 1) {
      const parent = parts.slice(0, n).join('/');
      if ((await secrets.get(tenant, parent)) !== null) throw taken(`${parent} is a secret`);
    }
  }

  /** Null when the store has no such secret. */
  async #stored(tenant: string, name: string): Promise<string | null> {
    const [path = ''] = name.split('@', 1);
    if (!isSecretPath(tenant, path) || (tenant === SYSTEM_TENANT && this.#parts.needsFile.has(path))) return null;
    try {
      return await this.#values.get(tenant, name);
    } catch (error) {
      if (error instanceof SvcError && error.code === 'unavailable') throw error;
      const why =
        error instanceof SvcError && error.code === 'failed_precondition' ? error.message : 'its key is unusable';
      throw new SvcError('failed_precondition', `${SECRET}${name}: ${why}`, { cause: error });
    }
  }

  async #read(tenant: string, name: string): Promise<string | null> {
    const { secrets, ring } = this.#parts;
    const match = /^([^@]+)(?:@([1-9]\d{0,14}))?$/.exec(name);
    if (match?.[1] === undefined) return null;
    return secrets.read(ring, tenant, match[1], match[2] === undefined ? undefined : Number(match[2]));
  }

  #said(event: string, { tenant, subject }: Identity, path: string): void {
    this.#parts.audit({ event, tenant, path, by: subject }, 'secret');
  }
}
