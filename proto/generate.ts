import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devTools, withDevTools } from '../.ci/tools/dev-tool.ts';

const PROTO = import.meta.dirname;
const GENERATED = 'gen';
/** All messages with their comments, for server reflection. */
const DESCRIPTORS = join(GENERATED, 'descriptors.binpb');
/** The same of the standard health service, from the package that brings its .proto file. */
const HEALTH_PROTO = join(PROTO, '..', 'node_modules', 'grpc-health-check', 'proto');
const HEALTH_DESCRIPTORS = join(GENERATED, 'health.binpb');

/** Writes everything that is made of the .proto files into `gen/` below `directory`. Throws with what buf said. */
function generate(directory: string): void {
  // A folder of its own, so that files whose source is gone go as well.
  rmSync(join(directory, GENERATED), { recursive: true, force: true });
  mkdirSync(join(directory, GENERATED), { recursive: true });
  buf('generate', '--output', directory);
  buf('build', '--output', join(directory, DESCRIPTORS));
  buf('build', HEALTH_PROTO, '--output', join(directory, HEALTH_DESCRIPTORS));
}

/** Names of generated files below `gen/` that are missing, left over, or not what the .proto files make; sorted. */
export function staleFiles(): string[] {
  const fresh = mkdtempSync(join(tmpdir(), 'svc-proto-'));
  try {
    generate(fresh);
    const names = new Set([...filesIn(join(fresh, GENERATED)), ...filesIn(join(PROTO, GENERATED))]);
    return [...names].filter((name) => !sameFile(join(fresh, GENERATED, name), join(PROTO, GENERATED, name))).sort();
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Checks names and shapes of the .proto files; throws with what buf said. */
export function lint(): void {
  buf('lint');
}

function buf(...args: readonly string[]): void {
  const { status, stderr, stdout, error } = spawnSync(join(devTools(), 'buf'), args, {
    cwd: PROTO,
    encoding: 'utf8',
    env: withDevTools(),
  });
  if (status === 0) return;
  throw new Error(`buf ${args.join(' ')} failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause: error });
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
}

function sameFile(one: string, other: string): boolean {
  try {
    return readFileSync(one).equals(readFileSync(other));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** Generates beside and then copies, so that a failure leaves what is there. */
function replaceGenerated(): void {
  const fresh = mkdtempSync(join(tmpdir(), 'svc-proto-'));
  try {
    generate(fresh);
    rmSync(join(PROTO, GENERATED), { recursive: true, force: true });
    cpSync(join(fresh, GENERATED), join(PROTO, GENERATED), { recursive: true });
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  lint();
  if (process.argv.includes('--check')) {
    const stale = staleFiles();
    if (stale.length > 0) {
      console.error(`not what the .proto files make, run "npm run generate": ${stale.join(', ')}`);
      process.exitCode = 1;
    }
  } else replaceGenerated();
}
