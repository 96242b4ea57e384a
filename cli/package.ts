/**
 * Makes the tarball of the npm package from a folder of its own, `.cache/package`: npm run package [FOLDER].
 *
 * A clone has every package that a feature may need. The npm package leaves those of `peerDependenciesMeta` to the users of the
 * feature (decision 0050), so its package.json differs. Links of pages to files that are not shipped become plain text.
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
  devDependencies: z.record(z.string(), z.string()),
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.literal(true) })),
});

/**
 * The package.json of the npm package, from that of the clone: optional packages are peers, development packages are dropped.
 */
function publishedManifest(text: string): Record<string, unknown> {
  const manifest = Manifest.parse(JSON.parse(text));
  const { dependencies, devDependencies, peerDependenciesMeta, scripts: _s, allowScripts: _a, ...rest } = manifest;
  const peers = Object.keys(peerDependenciesMeta).map((name) => {
    const version = dependencies[name] ?? devDependencies[name];
    if (version === undefined) throw new Error(`package.json: ${name} is optional, but no dependency`);
    return [name, version] as const;
  });
  const own = Object.entries(dependencies).filter(([name]) => peerDependenciesMeta[name] === undefined);
  return {
    ...rest,
    dependencies: Object.fromEntries(own),
    peerDependencies: Object.fromEntries(peers),
    peerDependenciesMeta,
  };
}

/** A page in which links to missing files are plain text. */
const withoutDeadLinks = (text: string, isThere: (target: string) => boolean): string =>
  text.replaceAll(/(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)/g, (link, label: string, target: string) =>
    /^[a-z]+:/.test(target) || isThere(target) ? link : label,
  );

/** The tarball's path. */
async function makePackage(into: string): Promise<string> {
  rmSync(STAGE, { recursive: true, force: true });
  mkdirSync(STAGE, { recursive: true });
  const text = readFileSync(join(ROOT, 'package.json'), 'utf8');
  writeFileSync(join(STAGE, 'package.json'), `${JSON.stringify(publishedManifest(text), null, 2)}\n`);
  for (const file of ['README.md', 'LICENSE', 'THIRD-PARTY-NOTICES.txt', 'docs']) {
    cpSync(join(ROOT, file), join(STAGE, file), { recursive: true });
  }
  await pack(join(STAGE, 'dist'));
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

if (import.meta.main) console.log(await makePackage(resolve(process.argv[2] ?? ROOT)));
