/**
 * Makes the npm package: `pack` writes its `dist/`, and `npm run package [FOLDER]` makes the tarball from a folder of its own,
 * `.cache/package`.
 *
 * Node strips no types below node_modules, so `dist/` holds JavaScript, in few files (bundle.ts). Files read at run time are
 * copied to where the code looks for them. The modules that other programs import have declarations, too (tsconfig.types.json).
 *
 * A clone has every package that a feature may need. The npm package leaves those of `peerDependenciesMeta` to the users of the
 * feature (decision 0050), so its package.json differs. Links of pages to files that are not shipped become plain text.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { bundle, threadModules } from './bundle.ts';
import { bundleScript } from './bundle-script.ts';

const ROOT = resolve(import.meta.dirname, '..');
const AREAS = [
  'manifests',
  'proto/gen',
  'runtime',
  'actors',
  'cluster',
  'effects',
  'tools',
  'catalog',
  'security',
  'transport',
  'cli',
  'app',
  'usecases',
  'clients/typescript',
];
/** Files that are started or imported by name: `exports` and `bin` of package.json. */
const ENTRIES = [
  'main.ts',
  'cli/svc.ts',
  'runtime/index.ts',
  'runtime/testing/index.ts',
  'test/contract/index.ts',
  'clients/typescript/client.ts',
];
/** The oldest Node.js of `engines` in package.json. */
const OLDEST_NODE = '22.15';
/** Read at run time, next to the code that reads it. */
const DATA = ['**/*.lua', '**/*.sh', '**/*.binpb', '**/*.json', '**/*.html', '**/*.css', '**/*.yaml'];

/** Output of dashboard/build.ts, which nodes serve unchanged. */
const DASHBOARD = 'dashboard/dist';

/** Static and dynamic imports of our own files. */
const RELATIVE_IMPORT = /(\bfrom\s*|\bimport\s*\(?\s*)(['"])(\.{1,2}\/[^'"\n]+)\.ts\2/g;

/** Writes the package's code into `target`, which is emptied first. */
export async function pack(target: string): Promise<void> {
  rmSync(target, { recursive: true, force: true });
  await bundle({ entries: [...ENTRIES, ...threadModules()], into: target, node: OLDEST_NODE, packages: false });
  await bundleScript({ entry: 'main.ts', file: join(target, 'node-script.js'), node: OLDEST_NODE });
  declare(target);
  execFileSync(process.execPath, [join(ROOT, 'dashboard', 'build.ts')], { stdio: 'inherit' });
  cpSync(join(ROOT, DASHBOARD), join(target, DASHBOARD), { recursive: true });
  copyData(target);
}

/** Copies the files that are read at run time to where compiled code in `target` looks for them. */
export function copyData(target: string): void {
  for (const file of AREAS.flatMap((area) => within(area, DATA))) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(ROOT, file), join(target, file));
  }
}

/** Options with which the compiler reads one file only. */
const ALONE = ['--ignoreConfig', '--noResolve', '--noCheck', '--allowImportingTsExtensions'];

/** Writes the declarations. Those of `main.ts` are made of it alone: what it imports is the whole product. */
function declare(target: string): void {
  const compile = (...flags: readonly string[]) =>
    execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), [...flags, '--outDir', target], {
      cwd: ROOT,
      stdio: 'inherit',
    });
  compile('-p', 'tsconfig.types.json');
  const kind = ['--module', 'nodenext', '--target', 'es2024', '--declaration', '--emitDeclarationOnly'];
  compile('main.ts', ...ALONE, ...kind);
  for (const file of globSync('**/*.d.ts', { cwd: target }).map((name) => join(target, name))) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(RELATIVE_IMPORT, '$1$2$3.js$2'));
  }
}

const within = (area: string, patterns: readonly string[]): string[] =>
  globSync(
    patterns.map((pattern) => `${area}/${pattern}`),
    { cwd: ROOT },
  ).filter((file) => statSync(join(ROOT, file)).isFile());

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
