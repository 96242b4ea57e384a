/**
 * Makes the tarball of the npm package from a folder of its own, `.cache/package`: npm run package [FOLDER].
 *
 * A clone has every package that a feature may need. The npm package asks for those of `peerDependenciesMeta` only from
 * who uses the feature (decision 0050), so its package.json is another one. Links of pages that lead to files which are
 * not shipped become plain text.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { pack } from './pack.ts';

const ROOT = resolve(import.meta.dirname, '..');
const STAGE = join(ROOT, '.cache', 'package');

const Manifest = z.looseObject({
  files: z.array(z.string()),
  dependencies: z.record(z.string(), z.string()),
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.literal(true) })),
});

/** The package.json of the npm package, of that of the clone: optional packages are peers, nothing is for development. */
function publishedManifest(text: string): Record<string, unknown> {
  const manifest = Manifest.parse(JSON.parse(text));
  const { dependencies, peerDependenciesMeta, scripts: _s, devDependencies: _d, allowScripts: _a, ...rest } = manifest;
  const optional = Object.keys(peerDependenciesMeta);
  const unknown = optional.filter((name) => dependencies[name] === undefined);
  if (unknown.length > 0) throw new Error(`package.json: optional, but no dependencies: ${unknown.join(', ')}`);
  const split = Object.groupBy(Object.entries(dependencies), ([name]) => (optional.includes(name) ? 'peer' : 'own'));
  return {
    ...rest,
    dependencies: Object.fromEntries(split.own ?? []),
    peerDependencies: Object.fromEntries(split.peer ?? []),
    peerDependenciesMeta,
  };
}

/** A page with links to what `isThere` refuses as their text alone. */
const withoutDeadLinks = (text: string, isThere: (target: string) => boolean): string =>
  text.replaceAll(/(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)/g, (link, label: string, target: string) =>
    /^[a-z]+:/.test(target) || isThere(target) ? link : label,
  );

/** The tarball's path. */
function makePackage(into: string): string {
  rmSync(STAGE, { recursive: true, force: true });
  mkdirSync(STAGE, { recursive: true });
  const text = readFileSync(join(ROOT, 'package.json'), 'utf8');
  writeFileSync(join(STAGE, 'package.json'), `${JSON.stringify(publishedManifest(text), null, 2)}\n`);
  for (const file of ['README.md', 'LICENSE', 'THIRD-PARTY-NOTICES.txt', 'docs']) {
    cpSync(join(ROOT, file), join(STAGE, file), { recursive: true });
  }
  pack(join(STAGE, 'dist'));
  for (const page of globSync('**/*.md', { cwd: STAGE })) {
    const file = join(STAGE, page);
    const isThere = (target: string): boolean => existsSync(join(dirname(file), target));
    writeFileSync(file, withoutDeadLinks(readFileSync(file, 'utf8'), isThere));
  }
  const flags = ['pack', '--json', '--silent', '--pack-destination', into, STAGE];
  const packed = execFileSync('npm', flags, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const [made] = z.array(z.object({ filename: z.string() })).parse(JSON.parse(packed.slice(packed.indexOf('['))));
  if (made === undefined) throw new Error('npm pack made nothing');
  return join(into, made.filename);
}

if (import.meta.main) console.log(makePackage(resolve(process.argv[2] ?? ROOT)));
