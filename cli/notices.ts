/**
 * Writes THIRD-PARTY-NOTICES.txt: the packages that are shipped with this one or bundled into the dashboard, with their
 * licences and the notices that these require.
 *
 * node cli/notices.ts
 */
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';

const ROOT = resolve(import.meta.dirname, '..');
const TARGET = join(ROOT, 'THIRD-PARTY-NOTICES.txt');
const TEXTS = /^(licen[cs]e|notice|copying)([.-].*)?$/i;
/** E-mail addresses, which the notices omit: the file is on every machine, and authors are named without them. */
const ADDRESS = /\s*[<([]?\b[\w.+-]+@[\w-]+(\.[\w-]+)+[>)\]]?/g;
/** Packages that the dashboard imports, in code and in style sheets. */
const IMPORTED = /(?:from|import)\s*\(?\s*['"]([^.'"/][^'"]*)['"]/g;

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().default(''),
      license: z.string().optional(),
      dev: z.boolean().default(false),
      // Set for packages of certain platforms only: they have the licence of the package that names them.
      os: z.unknown().optional(),
      cpu: z.unknown().optional(),
      dependencies: z.record(z.string(), z.string()).default({}),
    }),
  ),
});
type Packages = z.output<typeof Lock>['packages'];

/** The text of the file, made of the lock file and what is installed. */
export function noticesText(): string {
  const { packages } = Lock.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
  const bundled = bundledPaths(packages);
  const shipped = Object.entries(packages).filter(
    ([path, { dev, os, cpu }]) => path !== '' && os === undefined && cpu === undefined && (!dev || bundled.has(path)),
  );
  const rows = shipped.map(([path, { version, license }]) => ({
    name: `${nameOf(path)} ${version}`,
    license: license ?? olderLicense(join(ROOT, path)),
    text: textOf(join(ROOT, path)),
  }));
  const parts = [...Map.groupBy(rows, ({ text }) => text)]
    .map(([text, of]) => ({ names: [...new Set(of.map(({ name, license }) => `${name} (${license})`))].sort(), text }))
    .sort((a, b) => (a.names.join() < b.names.join() ? -1 : 1));
  const head =
    'Packages that are shipped with svc-runtime or bundled into its dashboard. Made by cli/notices.ts; do not edit.\n';
  return [head, ...parts.map(({ names, text }) => `${names.join('\n')}\n\n${text}\n`)].join(`\n${'-'.repeat(78)}\n\n`);
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

const Older = z.object({ licenses: z.array(z.object({ type: z.string() })).default([]) });

/** The licence of a package that uses npm's former fields for it. */
function olderLicense(directory: string): string {
  const { licenses } = Older.parse(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')));
  return licenses.map(({ type }) => type).join(' OR ') || 'see its text';
}

/** The licence and notice files of a package, or that it has none. */
function textOf(directory: string): string {
  const files = readdirSync(directory)
    .filter((name) => TEXTS.test(name))
    .sort();
  if (files.length === 0) return 'The package has no text of its licence.';
  const texts = files.map((name) => readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n').trim());
  return texts.join('\n\n').replaceAll(ADDRESS, '');
}

/** Packages that the dashboard imports, and what those depend on. */
function bundledPaths(packages: Packages): Set<string> {
  const found = new Set<string>();
  const take = (name: string, from: string): void => {
    const path = installedPath(packages, name, from);
    if (path === null || found.has(path)) return;
    found.add(path);
    for (const inner of Object.keys(packages[path]?.dependencies ?? {})) take(inner, path);
  };
  for (const file of globSync('dashboard/**/*.{ts,tsx,css}', { cwd: ROOT })) {
    if (file.startsWith('dashboard/dist') || file === 'dashboard/build.ts') continue;
    for (const [, specifier = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORTED))
      take(
        specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/'),
        '',
      );
  }
  // A worker file that the build names.
  take('elkjs', '');
  return found;
}

/** Where a package finds another one: in its own folder, else in those around it. */
function installedPath(packages: Packages, name: string, from: string): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (Object.hasOwn(packages, path)) return path;
    if (at === '' || !at.includes('/node_modules/')) break;
  }
  return Object.hasOwn(packages, `node_modules/${name}`) ? `node_modules/${name}` : null;
}

if (import.meta.main) writeFileSync(TARGET, noticesText());
