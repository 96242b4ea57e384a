/**
 * Builds `dashboard/dist`: `node dashboard/build.ts`, also run by `npm ci`. Every file but `index.html` has a hash in its
 * name and a copy compressed with gzip beside it.
 */
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, build, type Metafile, type OutputFile } from 'esbuild';

const HERE = import.meta.dirname;
const ROOT = resolve(HERE, '..');
const DIST = join(HERE, 'dist');
const ASSETS = join(DIST, 'assets');
/** Sources of the build, besides packages, whose versions the lock file pins. */
const SOURCES = ['dashboard/**/*.{ts,tsx,css,html}', 'clients/typescript/**/*.ts', 'package-lock.json'];

/** Files that a browser loads before it shows the first page. */
const FIRST_LOAD_MAX_BYTES = 300_000;
const LONGEST_BUILD_MS = 60_000;

const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  format: 'esm',
  target: ['es2022'],
  minify: true,
  write: false,
  metafile: true,
  outdir: ASSETS,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  legalComments: 'none',
  logLevel: 'warning',
  define: { 'process.env.NODE_ENV': '"production"' },
} as const satisfies BuildOptions;

interface Built {
  /** Size of the first load, in bytes of gzip. */
  readonly firstLoadBytes: number;
  readonly ms: number;
}

/** Builds everything. Throws when a source cannot be compiled. */
async function buildDashboard(): Promise<Built> {
  const startedAt = performance.now();
  const workers = await build({
    ...COMMON,
    entryPoints: { 'trace-worker': join(HERE, 'trace/trace-worker.ts'), 'graph-worker': 'elkjs/lib/elk-worker.min.js' },
    format: 'iife',
  });
  const urlOf = (name: string): string =>
    `/assets/${basename(workers.outputFiles.find(({ path }) => basename(path).startsWith(name))?.path ?? '')}`;
  const page = await build({
    ...COMMON,
    entryPoints: { main: join(HERE, 'main.tsx'), style: join(HERE, 'styles/index.css') },
    splitting: true,
    jsx: 'automatic',
    define: {
      ...COMMON.define,
      TRACE_WORKER_URL: JSON.stringify(urlOf('trace-worker')),
      GRAPH_WORKER_URL: JSON.stringify(urlOf('graph-worker')),
    },
  });
  const first = firstLoad(page.metafile);
  const sizes = write([...workers.outputFiles, ...page.outputFiles], first);
  const firstLoadBytes = first.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
  return { firstLoadBytes, ms: performance.now() - startedAt };
}

/** Names of the style sheet, the entry and what the entry imports, the entry first. */
function firstLoad({ outputs }: Metafile): string[] {
  const found = new Set<string>();
  const take = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    for (const { path: next, kind } of outputs[path]?.imports ?? []) if (kind === 'import-statement') take(next);
  };
  for (const [path, { entryPoint = '' }] of Object.entries(outputs))
    if (/dashboard\/(main\.tsx|styles\/index\.css)$/.test(entryPoint)) take(path);
  return [...found]
    .map((path) => basename(path))
    .sort((a, b) => Number(b.startsWith('main')) - Number(a.startsWith('main')));
}

/** Writes the files, removes those of earlier builds, and returns the bytes of gzip by name. */
function write(files: readonly OutputFile[], first: readonly string[]): Map<string, number> {
  mkdirSync(ASSETS, { recursive: true });
  const sizes = new Map<string, number>();
  for (const { path, contents } of files) {
    const zipped = gzipSync(contents, { level: 9 });
    sizes.set(basename(path), zipped.length);
    writeFileSync(path, contents);
    writeFileSync(`${path}.gz`, zipped);
  }
  writeFileSync(join(DIST, 'index.html'), pageWith(first));
  for (const name of readdirSync(ASSETS)) if (!sizes.has(name.replace(/\.gz$/, ''))) rmSync(join(ASSETS, name));
  return sizes;
}

function pageWith(first: readonly string[]): string {
  const tags = first.map((name) => {
    if (name.endsWith('.css')) return `<link rel="stylesheet" href="/assets/${name}">`;
    return name.startsWith('main-')
      ? `<script type="module" src="/assets/${name}"></script>`
      : `<link rel="modulepreload" href="/assets/${name}">`;
  });
  return readFileSync(join(HERE, 'index.html'), 'utf8').replace('<!-- assets -->', tags.join('\n    '));
}

/** Whether a source is newer than the last build. */
function isStale(): boolean {
  const newest = Math.max(
    ...globSync(SOURCES, { cwd: ROOT })
      .filter((file) => !file.startsWith('dashboard/dist'))
      .map((file) => statSync(join(ROOT, file)).mtimeMs),
  );
  return (statSync(join(DIST, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0) <= newest;
}

/**
 * Builds unless the last build is newer than every source. Processes build one after the other, so that a partial build is
 * never served; a process that waited finds a new build. Throws when the first load is too large.
 */
export async function buildIfStale(): Promise<void> {
  if (!isStale()) return;
  const lock = takeLock();
  try {
    if (!isStale()) return;
    const { firstLoadBytes, ms } = await buildDashboard();
    const size = `${(firstLoadBytes / 1_000).toFixed(0)} kB gzip of at most ${FIRST_LOAD_MAX_BYTES / 1_000} kB`;
    console.log(`dashboard: built ${relative(ROOT, DIST)} in ${(ms / 1_000).toFixed(1)} s, first load ${size}`);
  } finally {
    lock.close();
  }
}

/** Waits for the lock of a small database, which the operating system releases when its process dies. */
function takeLock(): DatabaseSync {
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const lock = new DatabaseSync(join(ROOT, '.cache', 'dashboard-build.db'), { timeout: LONGEST_BUILD_MS });
  lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
  return lock;
}

if (import.meta.main) await buildIfStale();
