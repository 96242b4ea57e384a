import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, rm } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { PathTraversal } from '../../usecases/ports/volumes.ts';
import { giveDirectory } from './ownership.ts';
import { MAX_DEPTH, UPLOADS } from './volume-path.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_NONBLOCK } = constants;

const MAX_LINKS = 40;

/** An open directory inside a volume, reached without leaving the volume. Must be closed. */
export class OpenDirectory implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #path: string;
  /** Path from the root, with links resolved. */
  readonly parts: readonly string[];

  constructor(handle: FileHandle, path: string, parts: readonly string[]) {
    this.#handle = handle;
    this.#path = path;
    this.parts = parts;
  }

  /** Path of an entry: on Linux through the open descriptor, so that a link put in place meanwhile has no effect. */
  entry(name: string): string {
    return `${this.self}/${name}`;
  }

  get self(): string {
    return process.platform === 'linux' ? `/proc/self/fd/${this.#handle.fd}` : this.#path;
  }

  async child(name: string): Promise<OpenDirectory> {
    const handle = await open(this.entry(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
    return new OpenDirectory(handle, `${this.#path}/${name}`, [...this.parts, name]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#handle.close();
  }
}

export async function openRoot(root: string): Promise<OpenDirectory> {
  return new OpenDirectory(await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), root, []);
}

/**
 * Opens a directory, part by part from the volume's root. Reads symbolic links (commands may create any) and walks their
 * target the same way, so that they cannot lead out of the volume. `make` creates missing directories. Throws `PathTraversal`
 * for a link that leads out.
 */
export async function openDirectory(root: string, parts: readonly string[], make = false): Promise<OpenDirectory> {
  let wanted = [...parts];
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const outcome = await walk(root, wanted, make);
    if (outcome instanceof OpenDirectory) return outcome;
    wanted = outcome;
  }
  throw new PathTraversal('path: too many symbolic links');
}

/** The directory, or the parts to walk instead after a link. */
async function walk(root: string, wanted: readonly string[], make: boolean): Promise<OpenDirectory | string[]> {
  let at = await openRoot(root);
  try {
    for (const [index, name] of wanted.entries()) {
      const next = await step(at, name, make);
      if (typeof next === 'string') {
        const rest = linked(at.parts, next, wanted.slice(index + 1));
        await at[Symbol.asyncDispose]();
        return rest;
      }
      await at[Symbol.asyncDispose]();
      at = next;
    }
    return at;
  } catch (thrown) {
    await at[Symbol.asyncDispose]().catch(() => {});
    throw thrown;
  }
}

/** The next directory, or the target of the link in its place. */
async function step(at: OpenDirectory, name: string, make: boolean): Promise<OpenDirectory | string> {
  try {
    return await at.child(name);
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code === 'ENOENT' && make) {
      try {
        await mkdir(at.entry(name), { mode: 0o700 });
        if (name !== UPLOADS) await giveDirectory(at.entry(name), at.self);
      } catch (error) {
        if (systemCode(error) !== 'EEXIST') throw error;
      }
      return at.child(name);
    }
    // With O_NOFOLLOW a link is ELOOP, together with O_DIRECTORY it is ENOTDIR.
    if (code !== 'ELOOP' && code !== 'ENOTDIR') throw thrown;
    if (!(await lstat(at.entry(name))).isSymbolicLink()) throw thrown;
    // Replaced by a directory meanwhile: the first error is thrown.
    return readlink(at.entry(name)).catch((error: unknown) => {
      throw systemCode(error) === 'EINVAL' ? thrown : error;
    });
  }
}

/** The parts from the root to the target of a link. */
function linked(from: readonly string[], target: string, rest: readonly string[]): string[] {
  if (isAbsolute(target)) throw new PathTraversal('path: a symbolic link leads out of the volume');
  const parts = [...from];
  for (const name of target.split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') parts.push(name);
    else if (parts.pop() === undefined) throw new PathTraversal('path: a symbolic link leads out of the volume');
  }
  if (parts.length + rest.length > MAX_DEPTH) throw new PathTraversal('path: a symbolic link leads too deep');
  return [...parts, ...rest];
}

/** The directory of an entry and its name there. `follow`: resolves the entry if it is a link. */
export async function openParent(
  root: string,
  parts: readonly string[],
  { make = false, follow = false }: { readonly make?: boolean; readonly follow?: boolean } = {},
): Promise<{ readonly place: OpenDirectory; readonly name: string }> {
  let wanted = [...parts];
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const name = wanted.at(-1);
    if (name === undefined) {
      throw new SvcError('failed_precondition', 'the volume itself is a directory, not a file', { field: 'path' });
    }
    const place = await openDirectory(root, wanted.slice(0, -1), make);
    const target = follow ? await readlink(place.entry(name)).catch(() => null) : null;
    if (target === null) return { place, name };
    await place[Symbol.asyncDispose]();
    wanted = linked(place.parts, target, []);
  }
  throw new PathTraversal('path: too many symbolic links');
}

const run = promisify(execFile);

/**
 * Removes a directory with its content, if it exists. Programs can create trees with paths longer than the system's limit;
 * `rm` removes these by descending step by step.
 */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENAMETOOLONG') throw thrown;
    // /proc/self would be that of the other process.
    await run('/bin/rm', ['-rf', '--', directory.replace(/^\/proc\/self\//, `/proc/${process.pid}/`)]);
  }
}
