import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { linesOf, projectFiles } from './tree.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PLACE = join(ROOT, '.cache', 'programs');
/** Where the programs are that this run has built; not set when a file is run alone. */
const BUILT = 'SVC_TEST_PROGRAMS';
const UNUSED_AFTER_MS = 86_400_000;

/** The programs that tests start most, and what these load by its path: the actors of a test's fleet. */
const PROGRAMS = [
  'cli/svc.ts',
  'main.ts',
  'test/chaos/workload.ts',
  'test/faults/workload.ts',
  'test/support/cluster/adapter.ts',
  'test/support/cluster/fleet-node.ts',
  'test/support/kill-node.ts',
];

/** Modules that the product runs as threads: it starts them by their paths. */
const threadsAmong = (files: readonly string[]): string[] =>
  files.filter((file) => file.endsWith('.ts') && !file.startsWith('test/') && linesOf(file).some(isOfThread));
const isOfThread = (line: string): boolean => /^import .*\bparentPort\b.* from 'node:worker_threads'/.test(line);

/** The program to start in place of a source file: what this run has built of it, else the file itself. */
export function builtProgram(source: string): string {
  const directory = process.env[BUILT];
  const name = relative(ROOT, source);
  return directory !== undefined && PROGRAMS.includes(name) ? builtFile(directory, name) : source;
}

const builtFile = (directory: string, name: string): string => join(directory, name.replace(/\.ts$/, '.js'));

/**
 * Builds the programs, each with the packages that it loads, for all processes of this run. A node has 1,600 modules: to
 * load them takes a second of processor time, and half of that when they are in few files. Tests of the start itself
 * start the sources.
 */
export async function buildPrograms(): Promise<void> {
  const hash = createHash('sha256');
  const parts = projectFiles().filter((file) => !/^(docs|dashboard|examples|bench)\/|\.(md|test\.ts)$/.test(file));
  for (const file of parts) hash.update(file).update(readFileSync(join(ROOT, file)));
  const directory = join(PLACE, hash.digest('hex').slice(0, 16));
  if (!existsSync(directory)) await build(directory, threadsAmong(parts));
  utimesSync(directory, new Date(), new Date());
  for (const other of readdirSync(PLACE).map((name) => join(PLACE, name))) {
    const age = Date.now() - statSync(other).mtimeMs;
    if (age > UNUSED_AFTER_MS) rmSync(other, { recursive: true, force: true });
  }
  process.env[BUILT] = directory;
}

async function build(directory: string, threads: readonly string[]): Promise<void> {
  const [esbuild, { copyData }] = await Promise.all([import('esbuild'), import('../../cli/pack.ts')]);
  mkdirSync(PLACE, { recursive: true });
  const draft = mkdtempSync(join(PLACE, 'draft-'));
  // A test starts a node as another user.
  chmodSync(draft, 0o755);
  await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: [...PROGRAMS, ...threads],
    outbase: ROOT,
    outdir: draft,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    // Packages are chosen as Node.js chooses them, and names of classes are read at run time.
    conditions: [],
    mainFields: ['main'],
    keepNames: true,
    external: NOT_BUILT,
    banner: { js: REQUIRE },
    plugins: [ownPlace(directory)],
    logLevel: 'error',
  });
  copyData(draft);
  cpSync(join(ROOT, 'package.json'), join(draft, 'package.json'));
  mkdirSync(join(draft, 'dashboard'));
  symlinkSync(join(ROOT, 'dashboard', 'dist'), join(draft, 'dashboard', 'dist'));
  // Another run may have been faster.
  if (existsSync(directory)) rmSync(draft, { recursive: true });
  else renameSync(draft, directory);
}

/**
 * They load parts that are compiled for one machine, or packages that are not installed. Of Undici, which is no ES module,
 * an import at run time would find no names in a build.
 */
const NOT_BUILT = ['undici', 'ssh2', 're2-wasm', 'mongodb-client-encryption', 'kerberos', 'snappy', 'socks', 'aws4'];

/** For packages that are no ES modules. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

/** Of a package that is no ES module a build has no names, only what it exports as a whole. */
const PACKAGE_IMPORT = /(?<!typeof )\bimport\(('[^'.][^']*')\)/g;
const WITH_NAMES = 'import($1).then((loaded) => ({ ...loaded.default, ...loaded }))';

/** A module finds the files beside it: in the build if it is ours, in its package if it is not. */
function ownPlace(directory: string): Plugin {
  return {
    name: 'own-place',
    setup({ onLoad }) {
      onLoad({ filter: /\.(ts|m?js|cjs)$/ }, ({ path }) => {
        const isOurs = path.endsWith('.ts') && !path.includes('/node_modules/');
        const source = readFileSync(path, 'utf8');
        const text = isOurs ? source.replaceAll(PACKAGE_IMPORT, WITH_NAMES) : source;
        const loader = isOurs ? 'ts' : 'js';
        if (!/import\.meta|__dirname|__filename/.test(text)) return { contents: text, loader };
        const place = isOurs ? builtFile(directory, relative(ROOT, path)) : path;
        const [filename, dir, url] = [place, dirname(place), pathToFileURL(place).href].map((one) =>
          JSON.stringify(one),
        );
        const contents = text
          .replaceAll('import.meta.main', `(process.argv[1] === ${filename})`)
          .replaceAll(/\bimport\.meta\b(?!\.resolve)/g, `({ filename: ${filename}, dirname: ${dir}, url: ${url} })`)
          .replaceAll(/(?<![.\w])__dirname\b/g, isOurs ? '$&' : `${dir}`)
          .replaceAll(/(?<![.\w])__filename\b/g, isOurs ? '$&' : `${filename}`);
        return { contents, loader };
      });
    },
  };
}
