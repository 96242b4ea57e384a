import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, rm } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';
import { SvcError } from '../../runtime/errors.ts';
import { PathTraversal } from '../../usecases/ports/volumes.ts';
import { systemCode } from './file-failure.ts';
import { giveDirectory, MAX_DEPTH, UPLOADS } from './volume-path.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_NONBLOCK } = constants;

const MAX_LINKS = 40;

/** A directory inside a volume that was reached without leaving it. Close it. */
export class Place implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #path: string;
  /** Names from the root, after all links. */
  readonly parts: readonly string[];

  constructor(handle: FileHandle, path: string, parts: readonly string[]) {
    this.#handle = handle;
    this.#path = path;
    this.parts = parts;
  }

  /**
   * How the system finds an entry of this very directory: over the open descriptor where there is one to go by
   * (Linux), so that nobody can put a link in the way meanwhile. Elsewhere by path.
   */
  entry(name: string): string {
    return `${this.self}/${name}`;
  }

  get self(): string {
    return process.platform === 'linux' ? `/proc/self/fd/${this.#handle.fd}` : this.#path;
  }

  async child(name: string): Promise<Place> {
    const handle = await open(this.entry(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
    return new Place(handle, `${this.#path}/${name}`, [...this.parts, name]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#handle.close();
  }
}

/** The volume's own directory. */
export async function openRoot(root: string): Promise<Place> {
  return new Place(await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), root, []);
}

/**
 * Walks from a volume's root, name by name, each opened below the one before. A symbolic link (commands may make any)
 * is read and its target walked the same way, so it leads where its text says inside the volume and nowhere else.
 * Throws `PathTraversal` for one that leaves it. `make` creates directories that are missing.
 */
export async function openDirectory(root: string, parts: readonly string[], make = false): Promise<Place> {
  let wanted = [...parts];
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const outcome = await walk(root, wanted, make);
    if (outcome instanceof Place) return outcome;
    wanted = outcome;
  }
  throw new PathTraversal('path: too many symbolic links');
}

/** The place, or the names to walk instead once a link was read. */
async function walk(root: string, wanted: readonly string[], make: boolean): Promise<Place | string[]> {
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

/** The next directory, or the text of the link that is in its place. */
async function step(at: Place, name: string, make: boolean): Promise<Place | string> {
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
    // A directory again by now: what was found at first is the answer.
    return readlink(at.entry(name)).catch((error: unknown) => {
      throw systemCode(error) === 'EINVAL' ? thrown : error;
    });
  }
}

/** Names from the root that a link's text leads to. */
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

/** The directory of an entry and its name there, after following the entry itself when it is a link. */
export async function openParent(
  root: string,
  parts: readonly string[],
  { make = false, follow = false }: { readonly make?: boolean; readonly follow?: boolean } = {},
): Promise<{ readonly place: Place; readonly name: string }> {
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
 * Removes a directory with all that is in it; one that is not there is fine. Programs can make trees whose paths are longer
 * than any the system takes: those are left to `rm`, which goes down step by step.
 */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENAMETOOLONG') throw thrown;
    // Another process has other descriptors.
    await run('/bin/rm', ['-rf', '--', directory.replace(/^\/proc\/self\//, `/proc/${process.pid}/`)]);
  }
}
