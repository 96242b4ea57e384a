import { lstat } from 'node:fs/promises';
import { patternFault } from '../../../manifests/pattern.ts';
import { invalidField, SvcError } from '../../../runtime/errors.ts';
import { systemCode } from '../../../runtime/kit/system-code.ts';
import type { SearchLimits, VolumeFiles } from '../../../usecases/ports/volumes.ts';
import { FileOperation } from '../file-operation.ts';
import { type OpenDirectory, openDirectory, openParent } from '../tree.ts';
import { MAX_DEPTH } from '../volume-path.ts';
import type { VolumeStore } from '../volume-store.ts';
import type { SearchBounds } from './job.ts';
import type { SearchThreads } from './threads.ts';

const MiB = 1024 * 1024;
const PATTERN_CHARS = 4_096;
const GLOB: SearchBounds = { found: 10_000, found_bytes: MiB, entries: 500_000, file_bytes: 1, time_ms: 30_000 };
const GREP: SearchBounds = { found: 1_000, found_bytes: MiB, entries: 500_000, file_bytes: 8 * MiB, time_ms: 30_000 };

/** The searches of `VolumeFiles`: opens the directory here and walks it in a thread. */
export function createFileSearch(store: VolumeStore, threads: SearchThreads): Pick<VolumeFiles, 'glob' | 'grep'> {
  return {
    async glob(tenant, volumeId, path, pattern, { signal, under, ...limits } = {}) {
      checkGlob(pattern);
      await using operation = await FileOperation.begin(store, tenant, volumeId, path);
      return await operation.run(async (root, parts) => {
        await using place = await openDirectory(root, parts);
        const found = await threads.run(
          {
            kind: 'glob',
            pattern: pattern.replace(/^(\.\/)+/, ''),
            under: prefix(under),
            ...from(place, GLOB, limits),
          },
          signal,
        );
        if (found.kind !== 'glob') throw new SvcError('internal');
        operation.publish('DirectoryListed', { entry_count: found.entries });
        return { paths: found.paths, ended_by: found.ended_by };
      });
    },

    async grep(tenant, volumeId, path, pattern, { signal, ...limits } = {}) {
      checkRegex(pattern);
      await using operation = await FileOperation.begin(store, tenant, volumeId, path);
      return await operation.run(async (root, parts) => {
        const { place, only } = await directoryOrFile(root, parts);
        await using at = place;
        const found = await threads.run({ kind: 'grep', pattern, only, ...from(at, GREP, limits) }, signal);
        if (found.kind !== 'grep') throw new SvcError('internal');
        const { matches, files, skipped, ended_by, bytes } = found;
        operation.publish('FileRead', { offset: 0, bytes_read: bytes, files_read: files });
        const named = only === null ? matches : matches.map((match) => ({ ...match, path: '' }));
        return { matches: named, files, skipped, ended_by };
      });
    },
  };
}

const from = (place: OpenDirectory, defaults: SearchBounds, { found, entries, timeMs }: SearchLimits) => ({
  at: place.self,
  is_root: place.parts.length === 0,
  depth: MAX_DEPTH - place.parts.length,
  bounds: {
    ...defaults,
    found: found ?? defaults.found,
    entries: entries ?? defaults.entries,
    time_ms: timeMs ?? defaults.time_ms,
  },
});

const prefix = (under: string | undefined): string => (under === undefined || under === '' ? '' : `${under}/`);

/** The directory to search, or a single file and its directory. */
async function directoryOrFile(
  root: string,
  parts: readonly string[],
): Promise<{ place: OpenDirectory; only: string | null }> {
  try {
    return { place: await openDirectory(root, parts), only: null };
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOTDIR' || parts.length === 0) throw thrown;
    const { place, name } = await openParent(root, parts, { follow: true });
    const stats = await lstat(place.entry(name)).catch(() => null);
    if (stats?.isFile() === true) return { place, only: name };
    await place[Symbol.asyncDispose]();
    throw thrown;
  }
}

function checkRegex(pattern: string): void {
  const fault = pattern.length > PATTERN_CHARS ? `at most ${PATTERN_CHARS} characters` : patternFault(pattern);
  if (fault === null) return;
  const text = `pattern: expected a regular expression in RE2 syntax (no look-around, no back references): ${fault}`;
  throw new SvcError('invalid_argument', text, { field: 'pattern' });
}

function checkGlob(pattern: string): void {
  if (pattern.length > PATTERN_CHARS) throw wrongGlob(`at most ${PATTERN_CHARS} characters`);
  if (pattern.startsWith('/')) throw wrongGlob('a pattern relative to path, without a leading /');
  if (pattern.split('/').includes('..')) throw wrongGlob('a pattern without ..');
}

const wrongGlob = (expected: string): SvcError => invalidField('pattern', `expected ${expected}`);
