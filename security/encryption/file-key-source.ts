import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { jsonOrNull } from '../../runtime/json.ts';
import { makePrivateFile, readPrivateFile, unusable } from '../keys/file-keys.ts';
import { writeWhole } from '../secret-store/record-file.ts';
import { DATA_KEY_BYTES, type KeySource } from './key-source.ts';
import { seal, unseal } from './sealed.ts';

const FORMAT = 1;

const MOST_VERSIONS = 1_000;

const KeyFile = z.strictObject({
  format: z.literal(FORMAT),
  keys: z
    .array(
      z.strictObject({
        version: z.number().int().min(1),
        made_at: z.string(),
        /** 32 bytes, base64. */
        key: z.string().regex(/^[A-Za-z0-9+/]{43}=$/),
      }),
    )
    .min(1)
    .max(MOST_VERSIONS),
});

type KeyFile = z.output<typeof KeyFile>;

const WRAP_USE = 'svc-data-key';

/** Adds a version to a key file, or creates the file with version 1 (mode 0600). Returns the number of the version. */
export async function addKeyVersion(path: string, now: number): Promise<number> {
  const known = await readKeyFile(path);
  if ((known?.keys.length ?? 0) >= MOST_VERSIONS) {
    throw new SvcError(
      'limit_reached',
      `the key file has ${MOST_VERSIONS} versions: remove those that no secret needs`,
    );
  }
  const version = Math.max(0, ...(known?.keys ?? []).map((one) => one.version)) + 1;
  const made = { version, made_at: new Date(now).toISOString(), key: randomBytes(DATA_KEY_BYTES).toString('base64') };
  const keys = [...(known?.keys ?? []), made];
  const text = `${JSON.stringify({ format: FORMAT, keys } satisfies KeyFile, null, 2)}\n`;
  if (known === null) {
    if (!(await makePrivateFile(path, text))) throw unusable(path, 'another process has just created it: try again');
  } else await writeWhole(path, text);
  return version;
}

/** Null when there is no file. Throws `invalid_config` naming the file, never its content. */
async function readKeyFile(path: string): Promise<KeyFile | null> {
  const text = await readPrivateFile(path);
  if (text === null) return null;
  const read = KeyFile.safeParse(jsonOrNull(text));
  if (!read.success) throw unusable(path, `expected a key file of format ${FORMAT}`);
  return read.data;
}

/**
 * Keys in a file of mode 0600 that every node of a fleet has. It is read again when a version is missing, so a version that was
 * added to the file needs no restart.
 */
export class FileKeySource implements KeySource {
  readonly place: string;
  readonly isCopied: boolean;
  readonly #path: string;
  readonly #now: () => number;
  #keys = new Map<number, Uint8Array>();

  /** `isCopied`: other nodes have a copy of the file, so this node adds no version to it. */
  constructor(parts: { readonly path: string; readonly isCopied: boolean; readonly now: () => number }) {
    this.#path = parts.path;
    this.place = `the key file ${parts.path}`;
    this.isCopied = parts.isCopied;
    this.#now = parts.now;
  }

  async newest(): Promise<number> {
    await this.#read();
    return Math.max(0, ...this.#keys.keys());
  }

  async create(): Promise<number> {
    if (this.isCopied && (await this.newest()) > 0) {
      throw new SvcError(
        'failed_precondition',
        'the key file has no newer version: add one with `svc secret add-key FILE`, copy the file to every node, and try again',
      );
    }
    return addKeyVersion(this.#path, this.#now());
  }

  async wrap(version: number, dataKey: Uint8Array): Promise<string> {
    return seal(await this.#key(version), dataKey, [WRAP_USE, version]);
  }

  async unwrap(version: number, wrapped: string): Promise<Uint8Array> {
    const dataKey = unseal(await this.#key(version), wrapped, [WRAP_USE, version]);
    if (dataKey === null)
      throw new SvcError('failed_precondition', `key version ${version} does not open this data key`);
    return dataKey;
  }

  async close(): Promise<void> {
    this.#keys.clear();
  }

  async #key(version: number): Promise<Uint8Array> {
    if (!this.#keys.has(version)) await this.#read();
    const key = this.#keys.get(version);
    if (key === undefined) throw new SvcError('failed_precondition', `key version ${version} is missing on this node`);
    return key;
  }

  async #read(): Promise<void> {
    const file = await readKeyFile(this.#path);
    this.#keys = new Map((file?.keys ?? []).map(({ version, key }) => [version, Buffer.from(key, 'base64')]));
  }
}
