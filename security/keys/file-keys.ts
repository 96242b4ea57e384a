import { createPrivateKey, generateKeyPair, type KeyObject, randomUUID, sign as signWith } from 'node:crypto';
import { link, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import type { SigningKeys } from '../signed-token.ts';
import { DAY_MS, KEY_RETENTION_MS, type PublicJwk, publicJwkOf } from './published-keys.ts';

const newPair = promisify(generateKeyPair);

/** `<creation time in Unix ms, 15 digits>-<kid>.pem`, so that names sort by age. */
const FILE_NAME = /^(\d{15})-([A-Za-z0-9_-]{43})\.pem$/;

const MAX_FILES = 100;

/** Another process of this node may rotate keys: the directory is read again after this time. */
const LOOK_AGAIN_MS = 1_000;

/** A failed rotation by age is retried after this time. */
const TRY_AGAIN_MS = 60_000;

interface FileKeysOptions {
  /** Created at first use, mode 0700. */
  readonly directory: string;
  readonly rotateAfterDays: number;
  readonly clock: Clock;
  /** Called when a key cannot be created or deleted while others still work. */
  readonly warn?: (message: string, error: unknown) => void;
}

interface FileKey {
  readonly name: string;
  readonly madeAtMs: number;
  readonly key: KeyObject;
  readonly jwk: PublicJwk;
}

/**
 * RSA-2048 key pairs as PKCS#8 PEM files in their own directory (S3, embedded). The newest signs. An older one verifies until the
 * last token that it signed has expired; then its file is deleted. Throws `invalid_config` naming a file that is corrupt or that
 * other users can read.
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
    if (newest === undefined) throw unusable(this.#options.directory, 'it contains no key');
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

  /** Keys in use, newest first, at least one; single flight. */
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
      await this.#try('a new signing key could not be created; the current one stays in use', () => this.#make());
    }
    await this.#try('an expired signing key could not be deleted', () => this.#removeOld());
    return this.#keys;
  }

  #mayTry(): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#triedAtMs < TRY_AGAIN_MS) return false;
    this.#triedAtMs = now;
    return true;
  }

  /** Failures such as a full or read-only disk do not stop signing with an existing key. */
  async #try(failure: string, upkeep: () => Promise<void>): Promise<void> {
    try {
      await upkeep();
    } catch (error) {
      this.#options.warn?.(failure, error);
    }
  }

  /** Reads new files of the directory. */
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

  /** Null when another process has deleted it. */
  async #read(name: string): Promise<FileKey | null> {
    const path = join(this.#options.directory, name);
    const [, madeAt, kid] = FILE_NAME.exec(name) ?? [];
    if (madeAt === undefined) throw unusable(path, 'expected a key file named TIME-KID.pem, or another extension');
    const pem = await readPrivateFile(path);
    if (pem === null) return null;
    const read = await readKey(pem);
    if (read === null) throw unusable(path, 'expected an RSA private key in PEM');
    if (read.jwk.kid !== kid) throw unusable(path, 'the key does not match the file name');
    return { name, madeAtMs: Number(madeAt), ...read };
  }

  async #make(): Promise<void> {
    const { clock, directory } = this.#options;
    const { privateKey } = await newPair('rsa', { modulusLength: 2_048 });
    const jwk = await publicJwkOf(privateKey);
    // A clock that was set back must not make the new key older than its predecessor.
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
        // Another process has deleted it.
        if (error.code !== 'ENOENT') throw unusable(join(directory, name), `it cannot be removed (${error.code})`);
      });
    }
  }
}

/** Signs off the event loop: an RSA signature takes a millisecond. */
function signAside(data: Uint8Array, key: KeyObject): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    signWith('sha256', data, key, (error, signature) => (error === null ? resolve(signature) : reject(error)));
  });
}

/** Null unless it is an RSA private key. OpenSSL's error is dropped, since it may quote the text. */
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

/** Errors of file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Creates the directory, mode 0700. Throws `invalid_config` when it exists and other users can read it. */
async function makePrivateDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unusable(directory, `it cannot be created (${systemCode(error, 'unknown reason')})`);
  });
  const found = await stat(directory);
  if ((found.mode & OTHERS_MAY) !== 0) throw unusable(directory, 'the mode of the directory must be 0700');
}

/**
 * The text of a private file; null when it does not exist. Throws `invalid_config` naming the file, never its content, when it
 * cannot be read or when group or others can read it.
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
    const code = systemCode(error, 'unknown reason');
    if (code === 'ENOENT') return null;
    throw unusable(path, `it cannot be read (${code})`);
  }
}

/**
 * Creates a private file atomically, mode 0600. False when it exists already and was left unchanged: of two concurrent processes
 * one wins, and both read the same file.
 */
export async function makePrivateFile(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await using file = await open(draft, 'wx', 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    // On a full disk an empty draft would remain.
    await rm(draft, { force: true });
    throw unusable(path, `it cannot be written (${systemCode(error, 'unknown reason')})`);
  }
  return publish(draft, path);
}

/** A hard link fails when the name is taken; a rename would replace the file of another process. */
async function publish(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
  } catch (error) {
    const code = systemCode(error, 'unknown reason');
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

/** An error that names a key file and the problem. */
export const unusable = (path: string, why: string): SvcError => new SvcError('invalid_config', `${path}: ${why}`);
