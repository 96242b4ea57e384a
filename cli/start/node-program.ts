import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

type RunNode = (flags: readonly string[]) => Promise<void>;

interface NodeProgram {
  readonly runNode: RunNode;
  /** Keeps the compiled code for later starts. It takes some 30 ms, once for each version. */
  keepCompiled(): void;
}

/** The program in one script (bundle.ts). Only the npm package has it. */
const SCRIPT = join(import.meta.dirname, '..', '..', 'node-script.js');

/**
 * The program of a node. The package has it as a script, since the code that V8 keeps of a script has all functions that ran, and
 * the cache of Node.js has only what is compiled before a module runs: a start compiles 2,400 functions less (decision 0070).
 */
export async function nodeProgram(): Promise<NodeProgram> {
  const source = read(SCRIPT);
  if (source !== null) return fromScript(source);
  const { runNode } = await import('../../main.ts');
  return { runNode, keepCompiled() {} };
}

/** Null when the file cannot be read. */
function read(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
}

function fromScript(source: Buffer): NodeProgram {
  // V8 compares only the length of a source with that of the code that it kept.
  const name = `svc-node-${source.length}-${crc32(source).toString(16)}`;
  const directory = module.getCompileCacheDir?.();
  const file = directory === undefined ? null : join(directory, name);
  const cachedData = file === null ? undefined : intact(read(file));
  const script = new Script(source.toString('latin1'), {
    filename: SCRIPT,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const program: unknown = script.runInThisContext();
  if (typeof program !== 'function') throw new Error(`${SCRIPT} is not the program of a node`);
  const exported = { exports: {} };
  program(exported, module.createRequire(SCRIPT), join(SCRIPT, '..'), (specifier: string) =>
    import.meta.resolve(specifier),
  );
  return {
    runNode: runNodeOf(exported.exports),
    keepCompiled() {
      if (file !== null && (cachedData === undefined || script.cachedDataRejected === true))
        write(file, script.createCachedData());
    },
  };
}

function runNodeOf(exported: object): RunNode {
  if (!('runNode' in exported) || typeof exported.runNode !== 'function') throw new Error(`${SCRIPT} has no runNode`);
  const { runNode } = exported;
  return async (flags) => void (await runNode(flags));
}

const CHECKSUM_BYTES = 4;

/** What `write` wrote, without its checksum; undefined when there is nothing, or it is damaged. */
function intact(kept: Buffer | null): Buffer | undefined {
  if (kept === null || kept.length < CHECKSUM_BYTES) return undefined;
  const code = kept.subarray(0, -CHECKSUM_BYTES);
  return kept.readUInt32LE(code.length) === crc32(code) ? code : undefined;
}

function write(file: string, code: Buffer): void {
  const checksum = Buffer.alloc(CHECKSUM_BYTES);
  checksum.writeUInt32LE(crc32(code));
  const unfinished = `${file}.${process.pid}`;
  try {
    mkdirSync(join(file, '..'), { recursive: true });
    try {
      writeFileSync(unfinished, Buffer.concat([code, checksum]));
      renameSync(unfinished, file);
    } finally {
      // The part that a full disk took would stay there, one more for each start.
      rmSync(unfinished, { force: true });
    }
  } catch {
    // The disk is full or read-only: the next start compiles again.
  }
}
