import { createPrivateKey, generateKeyPair, type KeyObject, randomUUID, sign as signWith } from 'node:crypto';
import { link, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { SigningKeys } from '../signed-token.ts';
import { DAY_MS, KEY_RETENTION_MS, type PublicJwk, publicJwkOf } from './published-keys.ts';

const newPair = promisify(generateKeyPair);

/** `<Unix ms of its making, 15 digits>-<kid>.pem`: names sort by age. */
const FILE_NAME = /^(\d{15})-([A-Za-z0-9_-]{43})\.pem$/;

const MAX_FILES = 100;

/** Another process of this node may have rotated: the directory is looked at again after this. */
const LOOK_AGAIN_MS = 1_000;

/** A rotation by age that did not work is tried again after this. */
const TRY_AGAIN_MS = 60_000;

export interface FileKeysOptions {
  /** Made at first use, mode 0700. */
  readonly directory: string;
  readonly rotateAfterDays: number;
  readonly clock: Clock;
  /** Told when a new key cannot be made, or an old one not removed, while the others go on working. */
  readonly warn?: (message: string, error: unknown) => void;
}

interface FileKey {
  readonly name: string;
  readonly madeAtMs: number;
  readonly key: KeyObject;
  readonly jwk: PublicJwk;
}

/**
 * RSA-2048 pairs as PKCS#8 PEM files in a directory of their own (S3, embedded). The newest signs. An older one
 * verifies until the last token it signed has run out; then its file is removed. Throws `invalid_config` naming the
 * file that is corrupt or that others can read.
 */
export function createFileKeys(options: FileKeysOptions): SigningKeys {
  return new FileKeys(options);
}

class FileKeys implements SigningKeys {
  readonly #options: FileKeysOptions;
  /** Newest first. */
  #keys: readonly FileKey[] = [];
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #working: Promise<readonly FileKey[]> | null = null;

  constructor(options: FileKeysOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    await makePrivateDirectory(this.#options.directory);
    await this.#look();
  }

  async sign(data: Uint8Array): Promise<{ kid: string; signature: Uint8Array }> {
    const [newest] = await this.#current();
    if (newest === undefined) throw unusable(this.#options.directory, 'there is no key');
    return { kid: newest.jwk.kid, signature: await signAside(data, newest.key) };
  }

  async publicKeys(): Promise<readonly JWK[]> {
    return (await this.#current()).map(({ jwk }) => jwk);
  }

  async rotate(): Promise<void> {
    await this.#current();
    await this.#make();
  }

  async close(): Promise<void> {
    this.#keys = [];
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** The keys that count, newest first, at least one; one look for all who ask at once. */
  #current(): Promise<readonly FileKey[]> {
    this.#working ??= this.#refresh().finally(() => {
      this.#working = null;
    });
    return this.#working;
  }

  async #refresh(): Promise<readonly FileKey[]> {
    const { clock, rotateAfterDays, directory } = this.#options;
    if (clock.monotonic() - this.#lookedAtMs >= LOOK_AGAIN_MS) await this.#look();
    const [newest] = this.#keys;
    if (newest === undefined) {
      await makePrivateDirectory(directory);
      await this.#make();
    } else if (clock.now() - newest.madeAtMs >= rotateAfterDays * DAY_MS && this.#mayTry()) {
      await this.#try('a new signing key could not be made, the last one goes on', () => this.#make());
    }
    await this.#try('a signing key that has run out could not be removed', () => this.#removeOld());
    return this.#keys;
  }

  #mayTry(): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#triedAtMs < TRY_AGAIN_MS) return false;
    this.#triedAtMs = now;
    return true;
  }

  /** A full disk or a read-only one is no reason to stop signing with a key that is there. */
  async #try(failure: string, upkeep: () => Promise<void>): Promise<void> {
    try {
      await upkeep();
    } catch (error) {
      this.#options.warn?.(failure, error);
    }
  }

  /** Reads what is new in the directory. */
  async #look(): Promise<void> {
    const known = new Map(this.#keys.map((key) => [key.name, key]));
    const found: FileKey[] = [];
    for (const name of await this.#names()) {
      const key = known.get(name) ?? (await this.#read(name));
      if (key !== null) found.push(key);
    }
    this.#keys = found;
    this.#lookedAtMs = this.#options.clock.monotonic();
  }

  async #names(): Promise<string[]> {
    const { directory } = this.#options;
    const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw unusable(directory, `it cannot be read (${error.code ?? 'unknown reason'})`);
    });
    const files = names.filter((name) => name.endsWith('.pem'));
    if (files.length > MAX_FILES) throw unusable(directory, `it holds more than ${MAX_FILES} key files`);
    return files.sort().reverse();
  }

  /** Null when another process removed it meanwhile. */
  async #read(name: string): Promise<FileKey | null> {
    const path = join(this.#options.directory, name);
    const [, madeAt, kid] = FILE_NAME.exec(name) ?? [];
    if (madeAt === undefined) throw unusable(path, 'expected the name of a key file, or another ending');
    const pem = await readPrivateFile(path);
    if (pem === null) return null;
    const read = await readKey(pem);
    if (read === null) throw unusable(path, 'expected an RSA private key in PEM');
    if (read.jwk.kid !== kid) throw unusable(path, 'the key in it is not the one of its name');
    return { name, madeAtMs: Number(madeAt), ...read };
  }

  async #make(): Promise<void> {
    const { clock, directory } = this.#options;
    const { privateKey } = await newPair('rsa', { modulusLength: 2_048 });
    const jwk = await publicJwkOf(privateKey);
    // A clock that was set back must not make the new key older than the one it follows.
    const madeAtMs = Math.max(clock.now(), (this.#keys[0]?.madeAtMs ?? 0) + 1);
    const name = `${String(madeAtMs).padStart(15, '0')}-${jwk.kid}.pem`;
    await makePrivateFile(join(directory, name), String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
    await this.#look();
  }

  async #removeOld(): Promise<void> {
    const { clock, directory } = this.#options;
    const counts = (_key: FileKey, index: number): boolean => {
      const next = this.#keys[index - 1];
      return next === undefined || clock.now() - next.madeAtMs <= KEY_RETENTION_MS;
    };
    const old = this.#keys.filter((key, index) => !counts(key, index));
    this.#keys = this.#keys.filter(counts);
    for (const { name } of old) {
      await unlink(join(directory, name)).catch((error: NodeJS.ErrnoException) => {
        // Another process was faster.
        if (error.code !== 'ENOENT') throw unusable(join(directory, name), `it cannot be removed (${error.code})`);
      });
    }
  }
}

/** Off the event loop: an RSA signature takes a millisecond. */
function signAside(data: Uint8Array, key: KeyObject): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    signWith('sha256', data, key, (error, signature) => (error === null ? resolve(signature) : reject(error)));
  });
}

/** Null for anything but an RSA private key. What OpenSSL says of it stays here: it may quote the text. */
async function readKey(pem: string): Promise<{ readonly key: KeyObject; readonly jwk: PublicJwk } | null> {
  try {
    const key = createPrivateKey(pem);
    return { key, jwk: await publicJwkOf(key) };
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
}

const MAX_FILE_BYTES = 64 * 1024;

const OTHERS_MAY = 0o077;

/** What file systems without hard links answer. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Makes the directory, mode 0700. Throws `invalid_config` when it is there and others may look into it. */
async function makePrivateDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unusable(directory, `it cannot be made (${codeOf(error)})`);
  });
  const found = await stat(directory);
  if ((found.mode & OTHERS_MAY) !== 0) throw unusable(directory, 'the mode of the directory must be 0700');
}

/**
 * The text of a private file, or null when there is none. Throws `invalid_config` naming the file, never its content,
 * when it cannot be read or group or others can.
 */
export async function readPrivateFile(path: string): Promise<string | null> {
  try {
    await using file = await open(path, 'r');
    const found = await file.stat();
    if (!found.isFile()) throw unusable(path, 'it is not a regular file');
    if ((found.mode & OTHERS_MAY) !== 0) throw unusable(path, 'the mode of the file must be 0600');
    if (found.size > MAX_FILE_BYTES) throw unusable(path, `it is larger than ${MAX_FILE_BYTES} bytes`);
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof SvcError) throw error;
    const code = codeOf(error);
    if (code === 'ENOENT') return null;
    throw unusable(path, `it cannot be read (${code})`);
  }
}

/**
 * Makes a private file, mode 0600, whole or not at all. False when there is one already, which stays as it is: of two
 * processes that make it at once, one wins and both find the same.
 */
export async function makePrivateFile(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await using file = await open(draft, 'wx', 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    // Of a full disk an empty draft would stay.
    await rm(draft, { force: true });
    throw unusable(path, `it cannot be written (${codeOf(error)})`);
  }
  return publish(draft, path);
}

/** A hard link fails where the name is taken; a rename would replace what another process already uses. */
async function publish(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
  } catch (error) {
    const code = codeOf(error);
    if (NO_LINKS.includes(code)) {
      await rename(draft, path);
      return true;
    }
    await unlink(draft);
    if (code === 'EEXIST') return false;
    throw unusable(path, `it cannot be written (${code})`);
  }
  await unlink(draft);
  return true;
}

/** An error that names a file of keys and says what is wrong with it. */
export const unusable = (path: string, why: string): SvcError => new SvcError('invalid_config', `${path}: ${why}`);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
