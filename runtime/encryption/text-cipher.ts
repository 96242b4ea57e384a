import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { SvcError, toSvcError } from '../errors.ts';
import { SYSTEM_TENANT } from '../identity.ts';
import { KEY_AWAY, KEY_MISSING, type PayloadKey, type PayloadKeys } from './payload-keys.ts';

/** First character of encrypted text. Text of the kernel is JSON, or a reference that begins with `@`. */
const MARK = '#';

const ALGORITHM = 'aes-256-gcm';

const SALT_BYTES = 16;

const IV_BYTES = 12;

const TAG_BYTES = 16;

const HEAD_BYTES = SALT_BYTES + IV_BYTES + TAG_BYTES;

/** Most texts under one derived key. */
const MOST_TEXTS = 2 ** 32;

/** Derived keys kept for reading; each start of a node makes one for each tenant. */
const MOST_DERIVED = 1_000;

/** Beginning of encrypted bytes: `svc-payload 1 VERSION`, a line end, then what `TextCipher` makes. */
const BYTES_MARK = Buffer.from('#svc-payload 1 ');

/** Most bytes that encryption adds to bytes in Blobs. */
export const ADDED_BYTES = 128;

const LINE_END = 10;

const NO_WAIT = null;

/** A derived key of this process, used with a counter as nonce, so that no nonce is used twice. */
interface Session {
  readonly salt: Uint8Array;
  readonly key: KeyObject;
  texts: number;
}

/** A key object: with plain bytes each text would cost five times as much. */
const deriveKey = (key: PayloadKey, salt: Uint8Array): KeyObject =>
  createSecretKey(new Uint8Array(hkdfSync('sha256', key.secret, salt, 'svc payload text', 32)));

export const isEncrypted = (text: string): boolean => text.startsWith(MARK);

/**
 * Encrypts texts and bytes of tenants with AES-256-GCM: `#TENANT/VERSION/BASE64` of salt, nonce, tag and ciphertext. Each text
 * is bound to its purpose, for example the address of a record, and cannot be decrypted anywhere else.
 * Keys may have to be fetched first, and encryption is too frequent to wait for each text: `toWrite` and `toRead` fetch the
 * keys, and the calls after them do not wait. Until `use` has set the keys, every text passes unchanged.
 */
export class TextCipher {
  #keys: PayloadKeys | null = null;
  readonly #sessions = new WeakMap<PayloadKey, Session>();
  readonly #derived = new WeakMap<PayloadKey, Map<string, KeyObject>>();
  /** Why the last fetch of a key failed, by `idOf`. */
  readonly #locks = new Map<string, string>();

  use(keys: PayloadKeys): void {
    this.#keys = keys;
  }

  /** Whether stored texts may be encrypted. */
  get mayRead(): boolean {
    return this.#keys !== null;
  }

  get encryptsAny(): boolean {
    return this.#keys?.encryptsAny === true;
  }

  encrypts(tenant: string): boolean {
    return this.#keys?.encrypts(tenant) === true;
  }

  /** Fetches missing keys for texts of these tenants. Null: there is nothing to wait for. */
  toWrite(tenants: Iterable<string>): Promise<unknown> | null {
    const keys = this.#keys;
    if (keys?.encryptsAny !== true) return NO_WAIT;
    const missing = new Set<string>();
    for (const tenant of tenants) {
      if (this.#mayWrite(keys, tenant) && keys.newest(tenant) === undefined) missing.add(tenant);
    }
    if (missing.size === 0) return NO_WAIT;
    return Promise.all([...missing].map((tenant) => keys.loadNewest(tenant)));
  }

  /** Fetches missing keys of these texts. Null: there is nothing to wait for. */
  toRead(texts: Iterable<string | null | undefined>): Promise<unknown> | null {
    const keys = this.#keys;
    if (keys === null) return NO_WAIT;
    const missing = new Map<string, Name>();
    for (const text of texts) {
      if (text == null || !isEncrypted(text)) continue;
      const name = namedBy(text);
      // A text that names no key is damaged, and `decrypt` says so.
      if (name === null || keys.known(name.tenant, name.version) !== undefined) continue;
      missing.set(idOf(name), name);
    }
    if (missing.size === 0) return NO_WAIT;
    return Promise.all([...missing].map(([name, { tenant, version }]) => this.#load(keys, name, tenant, version)));
  }

  /** `toRead`, but a key that the store does not have any more stops nothing. */
  async toReadWhatIsKept(texts: readonly string[]): Promise<void> {
    const fetched = await Promise.allSettled(texts.map(async (text) => this.toRead([text])));
    for (const one of fetched)
      if (one.status === 'rejected' && toSvcError(one.reason).reason !== KEY_MISSING) throw one.reason;
  }

  /** Why a text cannot be decrypted now: its key was not fetched. Null: it can, or it is damaged. */
  lockOf(text: string): string | null {
    if (this.#keys === null || !isEncrypted(text)) return null;
    const name = namedBy(text);
    if (name === null || this.#keys.known(name.tenant, name.version) !== undefined) return null;
    return (
      this.#locks.get(idOf(name)) ??
      `version ${name.version} of the payload key of tenant ${name.tenant} was not fetched yet`
    );
  }

  async #load(keys: PayloadKeys, id: string, tenant: string, version: number): Promise<void> {
    try {
      await keys.load(tenant, version);
      this.#locks.delete(id);
    } catch (thrown) {
      const { code, message, store, reason } = toSvcError(thrown);
      if (code !== 'unavailable') throw thrown;
      this.#locks.set(id, message);
      throw new SvcError(code, message, { store, reason: reason ?? KEY_AWAY, cause: thrown });
    }
  }

  /** Encrypts a text of a tenant after `toWrite`; returns it unchanged when the tenant's texts are stored in plain text. */
  encrypt(tenant: string, text: string, use: string): string {
    return this.encrypts(tenant) ? this.#encrypt(tenant, text, use) : text;
  }

  /** Encrypts bytes as a text; only for a tenant whose texts are encrypted. */
  encryptBytesAsText(tenant: string, bytes: Uint8Array, use: string): string {
    return this.#encrypt(tenant, bytes, use);
  }

  /** Encrypts a text of several tenants, after `toWrite([SYSTEM_TENANT])`, when any tenant's texts are encrypted. */
  encryptShared(text: string, use: string): string {
    return this.encryptsAny ? this.#encrypt(SYSTEM_TENANT, text, use) : text;
  }

  /** Decrypts a text after `toRead`; other text is returned unchanged. Throws `internal` for damaged text. */
  decrypt(text: string, use: string): string {
    return this.#keys === null || !isEncrypted(text) ? text : this.decryptBytesOfText(text, use).toString('utf8');
  }

  decryptBytesOfText(text: string, use: string): Buffer {
    const { tenant, version, start } = nameOf(text);
    return this.#open(this.#known(tenant, version), Buffer.from(text.slice(start), 'base64'), use);
  }

  /**
   * Encrypts bytes for Blobs after `toWrite`. Equal bytes of a tenant come out equal while the key version stays, so that they are
   * still stored once: their nonce is a keyed hash of them.
   */
  encryptBytes(tenant: string, bytes: Uint8Array): Uint8Array {
    if (!this.encrypts(tenant)) return bytes;
    const key = this.#newest(tenant);
    const nonceKey = deriveKey(key, Buffer.from('svc payload nonce'));
    const salt = createHmac('sha256', nonceKey).update(bytes).digest().subarray(0, SALT_BYTES);
    const sealed = seal(deriveKey(key, salt), salt, Buffer.alloc(IV_BYTES), bytes, authenticatedData(key, 'blob'));
    return Buffer.concat([BYTES_MARK, Buffer.from(`${key.version}\n`), ...sealed]);
  }

  /** Decrypts bytes of Blobs; other bytes are returned unchanged. */
  async decryptBytes(tenant: string, bytes: Uint8Array): Promise<Uint8Array> {
    const keys = this.#keys;
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, BYTES_MARK.length + 12));
    if (keys === null || !head.subarray(0, BYTES_MARK.length).equals(BYTES_MARK)) return bytes;
    const end = head.indexOf(LINE_END);
    const version = Number(head.subarray(BYTES_MARK.length, end).toString('latin1'));
    if (end < 0 || !Number.isSafeInteger(version)) throw damaged(tenant, version);
    const key = keys.known(tenant, version) ?? (await keys.load(tenant, version));
    return this.#open(key, Buffer.from(bytes.buffer, bytes.byteOffset + end + 1, bytes.byteLength - end - 1), 'blob');
  }

  #mayWrite(keys: PayloadKeys, tenant: string): boolean {
    return tenant === SYSTEM_TENANT || keys.encrypts(tenant);
  }

  #encrypt(tenant: string, plain: string | Uint8Array, use: string): string {
    const key = this.#newest(tenant);
    const session = this.#session(key);
    session.texts += 1;
    const iv = Buffer.alloc(IV_BYTES);
    iv.writeUIntBE(session.texts, IV_BYTES - 6, 6);
    const parts = seal(session.key, session.salt, iv, plain, authenticatedData(key, use));
    return `${MARK}${tenant}/${key.version}/${Buffer.concat(parts).toString('base64')}`;
  }

  #session(key: PayloadKey): Session {
    const known = this.#sessions.get(key);
    if (known !== undefined && known.texts < MOST_TEXTS) return known;
    const salt = randomBytes(SALT_BYTES);
    const session = { salt, key: deriveKey(key, salt), texts: 0 };
    this.#sessions.set(key, session);
    return session;
  }

  #newest(tenant: string): PayloadKey {
    const key = this.#keys?.newest(tenant);
    if (key === undefined) throw new SvcError('internal', `the payload key of ${tenant} was not fetched`);
    return key;
  }

  #known(tenant: string, version: number): PayloadKey {
    const key = this.#keys?.known(tenant, version);
    if (key === undefined)
      throw new SvcError('internal', `version ${version} of the payload key of ${tenant} was not fetched`);
    return key;
  }

  #open(key: PayloadKey, sealed: Buffer, use: string): Buffer {
    const { tenant, version } = key;
    if (sealed.length < HEAD_BYTES) throw damaged(tenant, version);
    const salt = sealed.subarray(0, SALT_BYTES);
    const iv = sealed.subarray(SALT_BYTES, SALT_BYTES + IV_BYTES);
    const derived = use === 'blob' ? deriveKey(key, salt) : this.#derivedKey(key, salt);
    const decipher = createDecipheriv(ALGORITHM, derived, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(authenticatedData(key, use)));
    decipher.setAuthTag(sealed.subarray(SALT_BYTES + IV_BYTES, HEAD_BYTES));
    const plain = decipher.update(sealed.subarray(HEAD_BYTES));
    try {
      decipher.final();
    } catch (cause) {
      throw damaged(tenant, version, cause);
    }
    return plain;
  }

  #derivedKey(key: PayloadKey, salt: Buffer): KeyObject {
    const name = salt.toString('latin1');
    let derived = this.#derived.get(key);
    if (derived === undefined) {
      derived = new Map();
      this.#derived.set(key, derived);
    }
    const known = derived.get(name);
    if (known !== undefined) return known;
    const made = deriveKey(key, salt);
    const [oldest] = derived.keys();
    if (derived.size >= MOST_DERIVED && oldest !== undefined) derived.delete(oldest);
    derived.set(name, made);
    return made;
  }
}

function seal(
  key: KeyObject,
  salt: Uint8Array,
  iv: Uint8Array,
  plain: string | Uint8Array,
  place: string,
): readonly Uint8Array[] {
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(place));
  const sealed = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain);
  // GCM has nothing left to return at the end.
  cipher.final();
  return [salt, iv, cipher.getAuthTag(), sealed];
}

/** The authenticated data of a text: tenant, key version and purpose. */
const authenticatedData = ({ tenant, version }: PayloadKey, use: string): string => `${tenant}/${version} ${use}`;

interface Name {
  readonly tenant: string;
  readonly version: number;
  /** Offset of the BASE64 part. */
  readonly start: number;
}

const idOf = ({ tenant, version }: Name): string => `${tenant}/${version}`;

function nameOf(text: string): Name {
  const name = namedBy(text);
  if (name !== null) return name;
  throw new SvcError(
    'internal',
    'a stored text is damaged: it begins like an encrypted one but names no tenant and key',
  );
}

function namedBy(text: string): Name | null {
  const slash = text.indexOf('/');
  const second = text.indexOf('/', slash + 1);
  const version = Number(text.slice(slash + 1, second));
  if (slash <= 1 || second <= slash + 1 || !Number.isSafeInteger(version)) return null;
  return { tenant: text.slice(1, slash), version, start: second + 1 };
}

/** Tenant of an encrypted text. '' for a damaged one. */
export const tenantOfEncrypted = (text: string): string => namedBy(text)?.tenant ?? '';

const damaged = (tenant: string, version: number, cause?: unknown): SvcError =>
  new SvcError(
    'internal',
    `a stored text of tenant ${tenant} under key version ${version} is damaged, or was moved from another place`,
    { cause },
  );
