import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildIfStale } from '../../dashboard/build.ts';

const DIST = join(import.meta.dirname, '..', '..', 'dashboard', 'dist');

/** Builds the dashboard if its sources changed since the last build. */
export const built = (): Promise<void> => buildIfStale();

export const indexPage = (): string => readFileSync(join(DIST, 'index.html'), 'utf8');

/** Bytes of gzip by name, of everything that was built. */
export const zippedBytes = (): Map<string, number> =>
  new Map(
    readdirSync(join(DIST, 'assets'))
      .filter((name) => name.endsWith('.gz'))
      .map((name) => [name.slice(0, -'.gz'.length), readFileSync(join(DIST, 'assets', name)).length]),
  );
