import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chmod,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ContainerExtras } from '../containers/settings.ts';

/** Longer than any container may run. */
const ABANDONED_AFTER_MS = 25 * 3_600_000;

/** Directory of the bootstrap and of a long prompt in an agent's container, read-only. */
const NODE_PATH = '/svc';
/** Directory of the exchange in an agent's container. */
const EXCHANGE_PATH = '/run/svc';

export const BOOTSTRAP = `${NODE_PATH}/bootstrap.sh`;
export const PROMPT_FILE = `${NODE_PATH}/prompt`;
/** The output of an iteration, in the container of a script that validates it. */
export const SCRIPT_INPUT = `${NODE_PATH}/output`;

/** Label of a container with the exchange directory it was made with: a node that adopts the container serves this one. */
export const EXCHANGE_LABEL = 'dev.svc.box';

/** The exchange directory of one effect below `root`. */
export const exchangeOf = (root: string, effectId: string): string =>
  join(root, createHash('sha256').update(effectId).digest('hex').slice(0, 32));

/** The bootstrap of this version, a POSIX shell script. */
export const bootstrapScript = (): Promise<Buffer> => readFile(new URL('./bootstrap/bootstrap.sh', import.meta.url));

interface ExchangeContent {
  /** Replaces the bootstrap of this version. */
  readonly script?: Buffer | null;
  /** For a prompt that is too long for an argument. */
  readonly prompt?: string | null;
}

/**
 * Makes the directories of an exchange: `out`, where the container writes requests; `in`, where the node answers; `bin`
 * with the bootstrap and the prompt. Returns where the container mounts them. Repeating it is harmless.
 */
export async function prepareExchange(
  directory: string,
  { script = null, prompt = null }: ExchangeContent = {},
): Promise<ContainerExtras['binds']> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const [name, mode] of [
    ['out', 0o777],
    ['in', 0o755],
    ['bin', 0o755],
  ] as const) {
    await mkdir(join(directory, name), { recursive: true });
    // The container runs as another user; the mode of the parent keeps all other users out.
    await chmod(join(directory, name), mode);
  }
  await place(directory, 'bootstrap.sh', script ?? (await bootstrapScript()), 0o555);
  if (prompt !== null) await place(directory, 'prompt', Buffer.from(prompt), 0o444);
  return [
    { directory: join(directory, 'out'), path: `${EXCHANGE_PATH}/out`, readOnly: false },
    { directory: join(directory, 'in'), path: `${EXCHANGE_PATH}/in`, readOnly: true },
    { directory: join(directory, 'bin'), path: NODE_PATH, readOnly: true },
  ];
}

/** Makes a directory with the file `SCRIPT_INPUT` of a container. Repeating it is harmless. */
export async function prepareScriptInput(directory: string, text: string): Promise<ContainerExtras['binds']> {
  const bin = join(directory, 'bin');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await mkdir(bin, { recursive: true });
  await chmod(bin, 0o755);
  await place(directory, 'output', Buffer.from(text), 0o444);
  return [{ directory: bin, path: NODE_PATH, readOnly: true }];
}

async function place(directory: string, name: string, content: Buffer, mode: number): Promise<void> {
  const temporary = join(directory, `${name}.${randomUUID()}`);
  await writeFile(temporary, content, { mode, flag: 'wx' });
  // The umask of the node may have removed bits that the container's user needs.
  await chmod(temporary, mode);
  await rename(temporary, join(directory, 'bin', name));
}

export const removeExchange = (directory: string): Promise<void> => rm(directory, { recursive: true, force: true });

/** Removes exchanges of effects whose end no node observed. Called when a node starts. */
export async function sweepExchanges(root: string, clock: Clock): Promise<void> {
  for (const name of await readdir(root).catch(() => [])) {
    const path = join(root, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && clock.now() - found.mtimeMs >= ABANDONED_AFTER_MS) await removeExchange(path);
  }
}

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Linux: opens a name without opening the file, so that a device or a pipe can be checked without touching it. */
const O_PATH = 0o10_000_000;
const ANSWER = /^([1-9]\d{0,8})\.answer$/;
const onLinux = process.platform === 'linux';

/** The state of one request file. */
export type Found =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'request'; readonly bytes: Buffer };

/**
 * The directories `out` and `in` of an exchange, held open: names are resolved in these directories even if the container
 * replaces them. Reads only regular files of the container, up to a size limit.
 */
export class ExchangeDirectory implements AsyncDisposable {
  readonly #out: FileHandle;
  readonly #in: FileHandle;
  readonly outPath: string;
  readonly #inPath: string;

  private constructor(path: string, outgoing: FileHandle, incoming: FileHandle) {
    this.#out = outgoing;
    this.#in = incoming;
    this.outPath = onLinux ? `/proc/self/fd/${outgoing.fd}` : join(path, 'out');
    this.#inPath = onLinux ? `/proc/self/fd/${incoming.fd}` : join(path, 'in');
  }

  /** Throws `failed_precondition` when `out` or `in` is not a directory. */
  static async open(path: string): Promise<ExchangeDirectory> {
    const outgoing = await openFolder(path, 'out');
    try {
      return new ExchangeDirectory(path, outgoing, await openFolder(path, 'in'));
    } catch (thrown) {
      await outgoing.close();
      throw thrown;
    }
  }

  /** The highest number that has an answer; 0: none. */
  async answered(): Promise<number> {
    const numbers = (await readdir(this.#inPath)).map((name) => Number(ANSWER.exec(name)?.[1] ?? 0));
    return numbers.reduce((highest, number) => Math.max(highest, number), 0);
  }

  /** Reads `out/N.request`; refuses more than `mostBytes`. */
  async request(number: number, mostBytes: number): Promise<Found> {
    const found = await this.#regular(`${this.outPath}/${number}.request`);
    if (!('handle' in found)) return found;
    await using handle = found.handle;
    const { size } = await handle.stat();
    const tooLarge = { kind: 'refused', why: `the request is larger than ${mostBytes} bytes` } as const;
    if (size > mostBytes) return tooLarge;
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await handle.read(bytes, 0, size, 0);
    return { kind: 'request', bytes: bytes.subarray(0, bytesRead) };
  }

  async #regular(path: string): Promise<{ readonly handle: FileHandle } | Exclude<Found, { kind: 'request' }>> {
    const notRegular = { kind: 'refused', why: 'the request is not a regular file' } as const;
    try {
      await using seen = await open(path, onLinux ? O_PATH | O_NOFOLLOW : O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      if (!(await seen.stat()).isFile()) return notRegular;
      // Opens the file that was checked, even if its name now belongs to another one.
      return { handle: await open(onLinux ? `/proc/self/fd/${seen.fd}` : path, O_RDONLY | O_NONBLOCK) };
    } catch (thrown) {
      const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
      if (code === 'ENOENT') return { kind: 'none' };
      if (code === 'ELOOP') return notRegular;
      if (code === 'EACCES' || code === 'EPERM') return { kind: 'refused', why: 'the node may not read the request' };
      throw thrown;
    }
  }

  /** Writes `in/N.answer` atomically, then deletes the request and the answer before it. */
  async answer(number: number, bytes: Uint8Array): Promise<void> {
    const temporary = `${this.#inPath}/${randomUUID()}.tmp`;
    await writeFile(temporary, bytes, { flag: 'wx', mode: 0o644 });
    await rename(temporary, `${this.#inPath}/${number}.answer`);
    await removeIfPresent(`${this.outPath}/${number}.request`);
    await removeIfPresent(`${this.#inPath}/${number - 1}.answer`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#out.close();
    await this.#in.close();
  }
}

async function openFolder(path: string, name: string): Promise<FileHandle> {
  try {
    return await open(join(path, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (cause) {
    throw new SvcError('failed_precondition', `the exchange has no directory ${name}`, { cause });
  }
}

/** A file that cannot be deleted does no harm: numbers only go up, so it is never read again. */
async function removeIfPresent(path: string): Promise<void> {
  await unlink(path).catch((thrown: unknown) => {
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown;
  });
}
