/**
 * Makes `dist/` of the npm package (package.ts): Node strips no types below node_modules, so the package holds JavaScript, in
 * few files (bundle.ts). Files read at run time are copied to where the code looks for them. The modules that authors of actors
 * import have declarations, too (tsconfig.types.json).
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bundle, bundleScript, threadModules } from './bundle.ts';

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

function declare(target: string): void {
  execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.types.json', '--outDir', target], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  for (const file of globSync('**/*.d.ts', { cwd: target }).map((name) => join(target, name))) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(RELATIVE_IMPORT, '$1$2$3.js$2'));
  }
}

const within = (area: string, patterns: readonly string[]): string[] =>
  globSync(
    patterns.map((pattern) => `${area}/${pattern}`),
    { cwd: ROOT },
  ).filter((file) => statSync(join(ROOT, file)).isFile());
