/**
 * Makes `dist/` of the npm package (package.ts): Node strips no types below node_modules, so the package holds plain JavaScript. Types
 * become blanks (positions stay), relative imports end in `.js`, files read at run time are copied beside them. What
 * authors of actors import has declarations, too (tsconfig.types.json).
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { transformSync } from 'esbuild';

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
/** They make other files of the package. */
const NOT_SHIPPED = new Set([
  'cli/pack.ts',
  'cli/package.ts',
  'cli/notices.ts',
  'clients/typescript/operations-text.ts',
  'clients/typescript/type-text.ts',
]);
/** Read at run time, next to the code that reads it. */
const DATA = ['**/*.lua', '**/*.sh', '**/*.binpb', '**/*.json', '**/*.html', '**/*.css', '**/*.yaml'];

/** What dashboard/build.ts writes; nodes serve it as it is. */
const DASHBOARD = 'dashboard/dist';

/** Static and dynamic imports of our own files. */
const RELATIVE_IMPORT = /(\bfrom\s*|\bimport\s*\(?\s*)(['"])(\.{1,2}\/[^'"\n]+)\.ts\2/g;

/** Writes the package's code into `target`, which is emptied first. */
export function pack(target: string): void {
  rmSync(target, { recursive: true, force: true });
  const sources = ['main.ts', 'read-settings.ts', ...AREAS.flatMap((area) => within(area, ['**/*.ts']))];
  for (const source of sources.filter((one) => !NOT_SHIPPED.has(one))) {
    const plain = plainText(source, readFileSync(join(ROOT, source), 'utf8'));
    write(join(target, source.replace(/\.ts$/, '.js')), plain.replaceAll(RELATIVE_IMPORT, '$1$2$3.js$2'));
  }
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

/** `using` and `await using`, which Node.js 22 does not parse. */
const USING = /^\s*(?:await )?using \w+ =/m;
const STACKS = 'runtime/kit/disposable-stacks.ts';

/**
 * A module as JavaScript that the Node.js versions of `engines` run. Types become blanks, so that positions stay; only a module
 * with `using` is written anew.
 */
function plainText(source: string, text: string): string {
  const plain = USING.test(text)
    ? transformSync(text, { loader: 'ts', format: 'esm', target: TARGET, tsconfigRaw: KEEP_IMPORTS }).code
    : stripTypeScriptTypes(text, { mode: 'strip' });
  if (source === STACKS || !plain.includes('DisposableStack')) return plain;
  const path = relative(dirname(source), STACKS);
  return `import '${path.startsWith('.') ? path : `./${path}`}';\n${plain}`;
}

const TARGET = 'node22';
const KEEP_IMPORTS = { compilerOptions: { verbatimModuleSyntax: true } };

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

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
}
