import { createPublicKey } from 'node:crypto';
import type { JWK } from 'jose';
import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { SigningKeys } from '../signed-token.ts';
import { DAY_MS, KEY_RETENTION_MS, type PublicJwk, publicJwkOf } from './published-keys.ts';
import { unavailable, type VaultAddress, VaultClient, type VaultLogin } from './vault-client.ts';

/** Maximum age of the known key versions. They are read again after it, since the key may be rotated elsewhere. */
const FRESH_MS = 60_000;
/** A refused rotation is retried after this time. */
const ROTATE_AGAIN_MS = 3_600_000;
const MAX_VERSIONS = 1_000;

const Version = z.object({ public_key: z.string().max(8_192), creation_time: z.iso.datetime({ offset: true }) });
const KeyAnswer = z.object({
  data: z.object({
    type: z.string().regex(/^[a-z0-9-]{1,40}$/),
    keys: z.record(z.string().regex(/^\d{1,9}$/), z.unknown()),
  }),
});
const SignAnswer = z.object({
  data: z.object({ signature: z.string().regex(/^vault:v\d{1,9}:[A-Za-z0-9+/]{1,2000}={0,2}$/) }),
});

type VaultKeysOptions = Omit<VaultAddress, 'setting'> &
  VaultLogin & {
    /** Mount path of the transit engine. */
    readonly mount: string;
    /** Name of the transit key. A missing key is created (`rsa-2048`). */
    readonly key: string;
    readonly rotateAfterDays: number;
    readonly clock: Clock;
    /** Called when the key service refuses a rotation by age; signing continues with the current key. */
    readonly warn?: (message: string, error: unknown) => void;
  };

interface KeyVersion {
  readonly version: number;
  readonly madeAtMs: number;
  readonly jwk: PublicJwk;
}

/**
 * Signs with the transit engine of HashiCorp Vault or OpenBao over its HTTP API; private keys never leave it. The `kid` is the
 * key's RFC 7638 thumbprint. `name-v1` would identify another key after the first was deleted and created again. Throws
 * `unavailable`, or `invalid_config` when the token or the key cannot be used.
 */
export function createVaultKeys(options: VaultKeysOptions): SigningKeys {
  return new VaultKeys(options);
}

class VaultKeys implements SigningKeys {
  readonly #options: VaultKeysOptions;
  readonly #client: VaultClient;
  readonly #keyPath: string;
  readonly #signPath: string;
  /** Newest first. */
  #versions: readonly KeyVersion[] = [];
  #readAtMs = Number.NEGATIVE_INFINITY;
  #rotationTriedAtMs = Number.NEGATIVE_INFINITY;
  #working: Promise<readonly KeyVersion[]> | null = null;

  constructor(options: VaultKeysOptions) {
    const mount = encodeURIComponent(options.mount);
    const key = encodeURIComponent(options.key);
    this.#options = options;
    this.#client = new VaultClient({ ...options, setting: 'spec.signing.vault' }, options);
    this.#keyPath = `${mount}/keys/${key}`;
    this.#signPath = `${mount}/sign/${key}/sha2-256`;
  }

  async open(): Promise<void> {
    await this.#current();
  }

  async sign(data: Uint8Array): Promise<{ kid: string; signature: Uint8Array }> {
    await this.#current();
    const body = { input: Buffer.from(data).toString('base64'), signature_algorithm: 'pkcs1v15', prehashed: false };
    const answer = await this.#client.call({ method: 'POST', path: this.#signPath, body });
    const signed = SignAnswer.safeParse(answer.body);
    if (answer.status !== 200 || !signed.success) throw unavailable(`does not sign (${answer.status})`);
    const [, version = '', signature = ''] = signed.data.data.signature.split(':');
    const { kid } = await this.#jwkOf(Number(version.slice(1)));
    return { kid, signature: Buffer.from(signature, 'base64') };
  }

  async publicKeys(): Promise<readonly JWK[]> {
    const versions = await this.#current();
    const now = this.#options.clock.now();
    return versions
      .filter((_version, index) => {
        const next = versions[index - 1];
        return next === undefined || now - next.madeAtMs <= KEY_RETENTION_MS;
      })
      .map(({ jwk }) => jwk);
  }

  async rotate(): Promise<void> {
    await this.#current();
    await this.#rotate();
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #jwkOf(version: number): Promise<PublicJwk> {
    const isIt = (known: KeyVersion): boolean => known.version === version;
    const known = this.#versions.find(isIt);
    if (known !== undefined) return known.jwk;
    // The key was rotated after it was read.
    await this.#read();
    const found = this.#versions.find(isIt);
    if (found === undefined) throw unavailable('signed with a version of the key that it does not show');
    return found.jwk;
  }

  /** All versions, newest first; single flight. */
  #current(): Promise<readonly KeyVersion[]> {
    this.#working ??= this.#refresh().finally(() => {
      this.#working = null;
    });
    return this.#working;
  }

  async #refresh(): Promise<readonly KeyVersion[]> {
    const { clock, rotateAfterDays, warn } = this.#options;
    if (clock.monotonic() - this.#readAtMs >= FRESH_MS) await this.#read();
    const [newest] = this.#versions;
    const isOld = newest !== undefined && clock.now() - newest.madeAtMs >= rotateAfterDays * DAY_MS;
    if (!isOld || clock.monotonic() - this.#rotationTriedAtMs < ROTATE_AGAIN_MS) return this.#versions;
    this.#rotationTriedAtMs = clock.monotonic();
    try {
      await this.#rotate();
    } catch (error) {
      // The policy of the token may leave rotation to the operators of the key service.
      warn?.('the key service did not rotate the signing key; the last version stays in use', error);
    }
    return this.#versions;
  }

  async #rotate(): Promise<void> {
    const { status } = await this.#client.call({ method: 'POST', path: `${this.#keyPath}/rotate`, body: {} });
    if (status >= 300) throw unavailable(`does not rotate the key (${status})`);
    await this.#read();
  }

  async #read(): Promise<void> {
    let answer = await this.#client.call({ method: 'GET', path: this.#keyPath });
    if (answer.status === 404) {
      await this.#make();
      answer = await this.#client.call({ method: 'GET', path: this.#keyPath });
    }
    const read = KeyAnswer.safeParse(answer.body);
    if (answer.status !== 200 || !read.success) throw unavailable(`does not show the key (${answer.status})`);
    const { type, keys } = read.data.data;
    if (!/^rsa-\d+$/.test(type)) throw this.#unusable('spec.signing.vault.key', `it is a key of type ${type}, not RSA`);
    const versions = await versionsOf(keys);
    if (versions.length === 0) throw this.#unusable('spec.signing.vault.key', 'it shows no public key');
    this.#versions = versions;
    this.#readAtMs = this.#options.clock.monotonic();
  }

  async #make(): Promise<void> {
    const { status } = await this.#client.call({ method: 'POST', path: this.#keyPath, body: { type: 'rsa-2048' } });
    if (status === 404) throw this.#unusable('spec.signing.vault.mount', 'no transit engine is mounted there');
    if (status >= 300) throw unavailable(`does not make the key (${status})`);
  }

  #unusable(field: string, why: string): SvcError {
    return new SvcError('invalid_config', `${field} (${this.#keyPath}): ${why}`, { field });
  }
}

async function versionsOf(keys: Readonly<Record<string, unknown>>): Promise<readonly KeyVersion[]> {
  const newest = Object.entries(keys)
    .map(([version, value]) => ({ version: Number(version), value: Version.safeParse(value) }))
    .sort((a, b) => b.version - a.version)
    .slice(0, MAX_VERSIONS);
  const versions: KeyVersion[] = [];
  for (const { version, value } of newest) {
    if (!value.success) throw unavailable('shows a text that is not a public key');
    const madeAtMs = Date.parse(value.data.creation_time);
    versions.push({ version, madeAtMs, jwk: await jwkOfPem(value.data.public_key) });
  }
  return versions;
}

async function jwkOfPem(pem: string): Promise<PublicJwk> {
  try {
    return await publicJwkOf(createPublicKey(pem));
  } catch (error) {
    if (error instanceof Error) throw unavailable('shows a text that is not a public key');
    throw error;
  }
}
