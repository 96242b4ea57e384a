import { mkdir, readdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import type { SecretView } from '../api.ts';
import { failed, isDirectory, orMissing, readRecord, type SecretRecord, writeWhole } from './record-file.ts';
import { MOST_EARLIER } from './secret-rules.ts';

const EARLIER = /^(.+)@(\d{1,15})$/;

/**
 * The secrets of one tenant below a directory: `PATH` holds the value, `PATH@N` an earlier version, `PATH@record` version, times
 * and user. Paths contain no `@`, and symbolic links to directories are not followed.
 */
export class SecretFiles {
  readonly #root: string;
  /** Subdirectories of other tenants. */
  readonly #foreign: readonly string[];

  constructor(root: string, foreign: readonly string[]) {
    this.#root = root;
    this.#foreign = foreign;
  }

  async get(path: string): Promise<SecretView | null> {
    if (!(await this.#hasParents(path))) return null;
    const found = await orMissing(stat(this.#at(path)));
    if (found === null || !found.isFile()) return null;
    const record = await readRecord(this.#recordOf(path));
    return {
      path,
      reference: `secret:${path}`,
      version: record?.version ?? 1,
      earlier: (await this.#earlier(path)).map((version) => ({ version, reference: `secret:${path}@${version}` })),
      created_at: record?.created_at ?? null,
      updated_at: record?.updated_at ?? found.mtime.toISOString(),
      updated_by: record?.updated_by ?? null,
    };
  }

  /** Keeps the current value as an earlier version first, so that a reference to a version never changes its meaning. */
  async put(path: string, value: string, change: { readonly at: string; readonly by: string }): Promise<SecretView> {
    await this.#makeParents(path);
    const known = await this.get(path);
    if (known === null && (await isDirectory(this.#at(path))) !== null)
      throw taken('path: there are secrets below this path');
    if (known !== null) await this.#keep(path, known.version);
    const record: SecretRecord = {
      version: (known?.version ?? 0) + 1,
      created_at: known?.created_at ?? change.at,
      updated_at: change.at,
      updated_by: change.by,
    };
    await writeWhole(this.#recordOf(path), JSON.stringify(record));
    // Readers strip one final newline, which editors add.
    await writeWhole(this.#at(path), value.endsWith('\n') ? `${value}\n` : value);
    const view = await this.get(path);
    if (view === null) throw new SvcError('unavailable', 'the secret was removed by another call');
    return view;
  }

  /** Paths with the prefix, sorted; at most `most`, behind the path `after`. */
  async paths(prefix: string, most: number, after = ''): Promise<string[]> {
    const paths: string[] = [];
    await this.#collect('', paths, (path) => path.startsWith(prefix));
    return paths
      .sort()
      .filter((path) => path > after)
      .slice(0, most);
  }

  /** False when it does not exist. */
  async remove(path: string, version?: number): Promise<boolean> {
    if ((await this.get(path)) === null) return false;
    const earlier = await this.#earlier(path);
    if (version !== undefined) {
      if (!earlier.includes(version)) return false;
      await this.#delete(`${path}@${version}`);
      return true;
    }
    await this.#delete(path);
    for (const one of earlier) await this.#delete(`${path}@${one}`);
    await this.#delete(`${path}@record`);
    await this.#dropEmptyParents(path);
    return true;
  }

  #at(path: string): string {
    return join(this.#root, path);
  }

  #recordOf(path: string): string {
    return this.#at(`${path}@record`);
  }

  async #delete(path: string): Promise<void> {
    await rm(this.#at(path), { force: true }).catch((error: unknown) => {
      throw failed(error);
    });
  }

  async #keep(path: string, version: number): Promise<void> {
    const value = await orMissing(readFile(this.#at(path)));
    if (value === null) return;
    await writeWhole(this.#at(`${path}@${version}`), value);
    for (const old of (await this.#earlier(path)).slice(MOST_EARLIER)) await this.#delete(`${path}@${old}`);
  }

  /** Numbers of earlier versions, newest first. */
  async #earlier(path: string): Promise<number[]> {
    const names = (await orMissing(readdir(dirname(this.#at(path))))) ?? [];
    return names
      .map((name) => EARLIER.exec(name))
      .flatMap((match) => (match?.[1] === basename(path) ? [Number(match[2])] : []))
      .sort((a, b) => b - a);
  }

  /** Whether all parents exist and are directories, not symbolic links. */
  async #hasParents(path: string): Promise<boolean> {
    for (const parent of parentsOf(path)) if ((await isDirectory(this.#at(parent))) !== true) return false;
    return true;
  }

  async #makeParents(path: string): Promise<void> {
    try {
      await mkdir(this.#root, { recursive: true, mode: 0o700 });
      for (const parent of parentsOf(path)) {
        const found = await isDirectory(this.#at(parent));
        if (found === false) throw taken(`path: ${parent} is not a directory`);
        if (found === null) await mkdir(this.#at(parent), { mode: 0o700 });
      }
    } catch (error) {
      throw failed(error);
    }
  }

  async #dropEmptyParents(path: string): Promise<void> {
    for (const parent of parentsOf(path).reverse()) {
      try {
        await rmdir(this.#at(parent));
      } catch (error) {
        if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(systemCode(error))) return;
        throw failed(error);
      }
    }
  }

  async #collect(folder: string, into: string[], wanted: (path: string) => boolean): Promise<void> {
    const entries = (await orMissing(readdir(this.#at(folder), { withFileTypes: true }))) ?? [];
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (this.#foreign.includes(path) || entry.name.startsWith('.') || entry.name.includes('@')) continue;
      if (entry.isDirectory()) await this.#collect(path, into, wanted);
      else if (wanted(path)) into.push(path);
    }
  }
}

/** `a`, `a/b` of `a/b/c`. */
function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_part, n) => parts.slice(0, n + 1).join('/'));
}

const taken = (text: string): SvcError => new SvcError('conflict', text, { field: 'path' });
