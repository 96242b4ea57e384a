import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cpuSeconds, writeTime } from './file-times.ts';
import { computingFiles, recordedSeconds } from './test-files.ts';
import { linesOf } from './tree.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Two runs may go on in one checkout. */
const DIRECTORY = join(ROOT, '.cache', 'batches', String(process.pid));

/** What a file changes or measures for its whole process: it has one of its own. */
const OF_THE_PROCESS =
  /process\.(env|on|once|exit|chdir|cpuUsage|memoryUsage|getActiveResourcesInfo|emitWarning|stdout|stderr)\b|mock\.|globalThis|eventLoop|--expose-gc|heap|console\.\w+ =/;

/**
 * Whether a file awaits outside of its functions: it has a process of its own. Node.js finds the test that a `describe` is
 * part of by the promise that was awaited last. One that an earlier file made (`Lazy`, or what asks once whether a store
 * is there) leads to the test of that file, which has ended.
 */
const awaitsAtItsTop = (lines: readonly string[]): boolean =>
  lines.some((line, at) => {
    if (!/\bawait\b/.test(line) || /\basync\b/.test(line)) return false;
    const begins = /^\s/.test(line) ? (lines[at - 1] ?? '') : line;
    return /^[a-z]/.test(begins) && (begins === line || /[=([]$/.test(begins));
  });

/** A file that is much longer than others holds the lane of its batch; a batch that is killed loses all of its files. */
const LONGEST_SECONDS = 10;
const BATCH_SECONDS = 30;
const BATCH_FILES = 30;

/**
 * Several test files in one process, one after the other. A process loads Node.js and the product's packages before its
 * first test: for files that only compute this is most of their time. Answers programs of batches, in the order of `files`, then the
 * files that have a process of their own.
 */
export function inBatches(files: readonly string[]): string[] {
  const seconds = recordedSeconds();
  const computing = new Set(computingFiles(files));
  const shares = (file: string): boolean =>
    computing.has(file) &&
    (seconds[file] ?? 0) <= LONGEST_SECONDS &&
    !linesOf(file).some((line) => OF_THE_PROCESS.test(line)) &&
    !awaitsAtItsTop(linesOf(file));
  const batches: { files: string[]; seconds: number }[] = [];
  for (const file of files.filter(shares)) {
    let last = batches.at(-1);
    if (last === undefined || last.seconds > BATCH_SECONDS || last.files.length >= BATCH_FILES) {
      last = { files: [], seconds: 0 };
      batches.push(last);
    }
    last.files.push(file);
    last.seconds += seconds[file] ?? 1;
  }
  return [...writeBatches(batches.map((batch) => batch.files)), ...files.filter((file) => !shares(file))];
}

function writeBatches(batches: readonly (readonly string[])[]): string[] {
  mkdirSync(DIRECTORY, { recursive: true });
  process.once('exit', () => rmSync(DIRECTORY, { recursive: true, force: true }));
  const here = pathToFileURL(import.meta.filename).href;
  return batches.map((files, at) => {
    const path = join(DIRECTORY, `${at + 1}.test.ts`);
    writeFileSync(path, `import { runBatch } from '${here}';\nawait runBatch(${JSON.stringify(files)});\n`);
    return relative(ROOT, path);
  });
}

/** Called in the process of a batch. Each file is a test with its own as parts, and is loaded when the one before has ended. */
export async function runBatch(files: readonly string[]): Promise<void> {
  // Tests may wait for timers that do not keep a process: test/deadline.ts ends what never ends.
  const keep = setInterval(() => {}, 60_000);
  for (const file of files) {
    const [begun, before] = [performance.now(), cpuSeconds()];
    await test(file, async () => {
      await import(pathToFileURL(join(ROOT, file)).href);
    });
    writeTime(file, { seconds: (performance.now() - begun) / 1_000, cpuSeconds: cpuSeconds() - before });
  }
  clearInterval(keep);
}
