import { createPrivateKey, generateKeyPair, type KeyObject, sign as signWith } from 'node:crypto';
import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import type { Clock } from '../../runtime/clock.ts';
import type { SigningKeys } from '../api.ts';
import { makePrivateDirectory, makePrivateFile, readPrivateFile, unusable } from './private-file.ts';
import { type PublicJwk, publicJwkOf } from './public-jwk.ts';
import { DAY_MS, KEY_RETENTION_MS } from './retention.ts';

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
 * RSA-2048 pairs as PKCS#8 PEM files in a directory of their own (design S3, embedded). The newest signs. An older one
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
