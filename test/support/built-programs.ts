import { execFile } from 'node:child_process';
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
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { COMPILED, SHORT_LIVED, SHORT_LIVED_SCRIPT } from './program-options.ts';
import { projectFiles } from './tree.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const KEEP_COMPILED = join(import.meta.dirname, 'keep-compiled.ts');
const PLACE = join(ROOT, '.cache', 'programs');
/** Directory of the programs that this run has built; not set when a file is run alone. */
const BUILT = 'SVC_TEST_PROGRAMS';
const UNUSED_AFTER_MS = 86_400_000;

/** The program that tests start most: a script with its compiled code. */
const NODE = 'main.ts';
/** Others that they start, and what these load by its path: the actors of a test's fleet. They share files. */
const OTHERS = [
  'cli/svc.ts',
  'test/chaos/workload.ts',
  'test/faults/workload.ts',
  'test/support/cluster/adapter.ts',
  'test/support/cluster/fleet-node.ts',
  'test/support/kill-node.ts',
];
const PROGRAMS = [NODE, ...OTHERS];
/** What runs the script. */
const NODE_PROGRAM = 'cli/start/node-program';
/** Runs it as `svc start` of the package does, which starts the node since this file is main.js. */
const LAUNCHER = `import { nodeProgram } from ${JSON.stringify(`./${NODE_PROGRAM}.js`)};\nawait nodeProgram();\n`;
/** Packages of the stores of a fleet. */
const STORE_PACKAGES = ['bullmq', 'ioredis', 'mongodb'];

/** The program to start in place of a source file: what this run has built of it, else the file itself. */
export function builtProgram(source: string): string {
  const directory = process.env[BUILT];
  const name = relative(ROOT, source);
  return directory !== undefined && PROGRAMS.includes(name) ? builtFile(directory, name) : source;
}

/** Arguments of Node.js for a program that lives for seconds: its options, and what is built in place of source files. */
export function shortLived(args: readonly string[]): string[] {
  const directory = process.env[BUILT];
  const built = args.map(builtProgram);
  const isScript = directory !== undefined && built.includes(builtFile(directory, NODE));
  return [...(isScript ? SHORT_LIVED_SCRIPT : SHORT_LIVED), ...built];
}

const builtFile = (directory: string, name: string): string => join(directory, name.replace(/\.ts$/, '.js'));

/**
 * Builds the programs, each with the packages that it loads, for all processes of this run. A node has 1,600 modules: to
 * load them takes a second of processor time, less when they are in few files, and half as much when V8 has kept the code of the
 * functions that run. Tests of the start itself start the sources.
 */
export async function buildPrograms(): Promise<void> {
  const hash = createHash('sha256');
  const parts = projectFiles().filter((file) => !/^(docs|dashboard|examples|bench)\/|\.(md|test\.ts)$/.test(file));
  for (const file of parts) hash.update(file).update(readFileSync(join(ROOT, file)));
  const directory = join(PLACE, hash.digest('hex').slice(0, 16));
  if (!existsSync(directory)) await build(directory);
  utimesSync(directory, new Date(), new Date());
  for (const other of readdirSync(PLACE).map((name) => join(PLACE, name))) {
    const age = Date.now() - statSync(other).mtimeMs;
    if (age > UNUSED_AFTER_MS) rmSync(other, { recursive: true, force: true });
  }
  process.env[BUILT] = directory;
}

async function build(directory: string): Promise<void> {
  const [{ bundle, threadModules }, { bundleScript }] = await Promise.all([
    import('../../cli/bundle.ts'),
    import('../../cli/bundle-script.ts'),
  ]);
  mkdirSync(PLACE, { recursive: true });
  const draft = mkdtempSync(join(PLACE, 'draft-'));
  // A test starts a node as another user.
  chmodSync(draft, 0o755);
  const node = process.versions.node;
  const entries = [...OTHERS, `${NODE_PROGRAM}.ts`, ...threadModules()];
  await Promise.all([
    bundle({ entries, into: draft, node, packages: true }),
    bundleScript({ entry: NODE, file: join(draft, 'node-script.js'), node, morePackages: STORE_PACKAGES }),
  ]);
  writeFileSync(join(draft, 'main.js'), LAUNCHER);
  await addNodeFiles(draft);
  await promisify(execFile)(process.execPath, [...SHORT_LIVED_SCRIPT, KEEP_COMPILED, draft], {
    env: { ...process.env, ...COMPILED },
  });
  // Another run may have been faster.
  if (existsSync(directory)) rmSync(draft, { recursive: true });
  else renameSync(draft, directory);
}

/** Adds what a built node reads at run time: the data of the package, its `package.json` and the dashboard. */
export async function addNodeFiles(directory: string): Promise<void> {
  const { copyData } = await import('../../cli/package.ts');
  copyData(directory);
  cpSync(join(ROOT, 'package.json'), join(directory, 'package.json'));
  mkdirSync(join(directory, 'dashboard'));
  symlinkSync(join(ROOT, 'dashboard', 'dist'), join(directory, 'dashboard', 'dist'));
}
