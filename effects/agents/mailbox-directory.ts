import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SvcError } from '../../runtime/errors.ts';
import { bootstrapFiles } from './bootstrap/api.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Opens a name without opening what it names, so that a device or a pipe is looked at and never touched (Linux). */
const O_PATH = 0o10_000_000;
const ANSWER = /^([1-9]\d{0,8})\.answer$/;
const onLinux = process.platform === 'linux';

/** Where the parts of a mailbox go in a container. */
export interface MailboxMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/**
 * Makes the directories of a mailbox inside `directory`, which only the node may enter: `out`, where the container writes;
 * `in`, where the node answers; `bin` with the bootstrap. Repeating it is harmless. Mount them as it says.
 */
export async function prepareMailbox(directory: string, at = '/run/svc'): Promise<readonly MailboxMount[]> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const modes = { out: 0o777, in: 0o755, bin: 0o755 };
  for (const [name, mode] of Object.entries(modes)) {
    await mkdir(join(directory, name), { recursive: true });
    // The container's user is another one; the parent keeps everyone else away.
    await chmod(join(directory, name), mode);
  }
  for (const { name, content, mode } of await bootstrapFiles()) {
    const temporary = join(directory, `${name}.${randomUUID()}`);
    await writeFile(temporary, content, { mode, flag: 'wx' });
    await chmod(temporary, mode);
    await rename(temporary, join(directory, 'bin', name));
  }
  return Object.keys(modes).map((name) => ({
    source: join(directory, name),
    target: `${at}/${name}`,
    readOnly: name !== 'out',
  }));
}

/** What was found in place of a request. */
export type Found = { readonly kind: 'none' } | { readonly kind: 'refused'; readonly why: string } | Whole;
interface Whole {
  readonly kind: 'request';
  readonly bytes: Buffer;
}

/**
 * The two directories of a mailbox, held open: names are looked up in them and nowhere else, whatever the container puts
 * in their place. Files of the container are read only if they are regular, and only so far.
 */
export class MailboxDirectory implements AsyncDisposable {
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
  static async open(path: string): Promise<MailboxDirectory> {
    const outgoing = await openFolder(path, 'out');
    try {
      return new MailboxDirectory(path, outgoing, await openFolder(path, 'in'));
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

  /** Reads `out/N.request`, at most `mostBytes`. */
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

  async #regular(path: string): Promise<{ readonly handle: FileHandle } | Exclude<Found, Whole>> {
    const notRegular = { kind: 'refused', why: 'the request is not a regular file' } as const;
    try {
      await using seen = await open(path, onLinux ? O_PATH | O_NOFOLLOW : O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      if (!(await seen.stat()).isFile()) return notRegular;
      // The very file that was looked at, whatever has its name by now.
      return { handle: await open(onLinux ? `/proc/self/fd/${seen.fd}` : path, O_RDONLY | O_NONBLOCK) };
    } catch (thrown) {
      const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
      if (code === 'ENOENT') return { kind: 'none' };
      if (code === 'ELOOP') return notRegular;
      if (code === 'EACCES' || code === 'EPERM') return { kind: 'refused', why: 'the node may not read the request' };
      throw thrown;
    }
  }

  /** Writes `in/N.answer`, whole or not at all, and forgets the exchange before. Throws `failed_precondition`, `quota_exceeded`. */
  async answer(number: number, bytes: Uint8Array): Promise<void> {
    const temporary = `${this.#inPath}/${randomUUID()}.tmp`;
    await writeFile(temporary, bytes, { flag: 'wx', mode: 0o644 });
    await rename(temporary, `${this.#inPath}/${number}.answer`);
    await forget(`${this.outPath}/${number}.request`);
    await forget(`${this.#inPath}/${number - 1}.answer`);
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
    throw new SvcError('failed_precondition', `the mailbox has no directory ${name}`, { cause });
  }
}

/** Only tidiness: numbers go up, so what stays is never looked at again. */
async function forget(path: string): Promise<void> {
  await unlink(path).catch((thrown: unknown) => {
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown;
  });
}
