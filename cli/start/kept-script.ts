import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/** A program in one script (bundle-script.ts), with the code that V8 compiled of it in earlier runs. */
export interface KeptScript {
  readonly exports: object;
  /** Keeps the compiled code for later starts, unless a valid file is there. It takes some 30 ms, once for each version. */
  keep(): void;
  /**
   * Keeps it once more when the process ends in order, with what its work has compiled: the next process runs the first turns of
   * its actors without compiling them. Until then V8 does not drop code that has not run for a while, such as that of the start.
   * Nothing is written where that is hardly more than what is kept.
   */
  keepAtExit(): void;
}

/** From this factor on, more code is worth a file of some megabytes. */
const GROWTH = 1.01;

/** Runs a script. Null when there is none at that path. `resolve` is `import.meta.resolve` of a module of the package. */
export function keptScript(path: string, resolve: (specifier: string) => string): KeptScript | null {
  const source = read(path);
  if (source === null) return null;
  // V8 compares only the length of a source with that of the code that it kept.
  const name = `svc-node-${source.length}-${crc32(source).toString(16)}`;
  const directory = module.getCompileCacheDir?.();
  const file = directory === undefined ? null : join(directory, name);
  const cachedData = file === null ? undefined : intact(read(file));
  const flags = cachedDataVersionTag();
  const script = new Script(source.toString('latin1'), {
    filename: path,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const program: unknown = script.runInThisContext();
  if (typeof program !== 'function') throw new Error(`${path} is not a program`);
  const exported = { exports: {} };
  program(exported, module.createRequire(path), join(path, '..'), resolve);
  let keptBytes = cachedData === undefined || script.cachedDataRejected === true ? 0 : cachedData.length;
  const keepMoreThan = (bytes: number): void => {
    // V8 refuses code that was kept under other options than those of the start.
    if (file === null || cachedDataVersionTag() !== flags) return;
    const code = script.createCachedData();
    if (code.length <= bytes) return;
    write(file, code);
    keptBytes = code.length;
  };
  return {
    exports: exported.exports,
    keep() {
      if (keptBytes === 0) keepMoreThan(0);
    },
    keepAtExit() {
      setFlagsFromString('--no-flush-bytecode');
      process.once('exit', (code) => {
        // Node.js also keeps code when the process ends.
        setFlagsFromString('--flush-bytecode');
        if (code === 0) keepMoreThan(keptBytes * GROWTH);
      });
    },
  };
}

/** Null when the file cannot be read. */
function read(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
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
