import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cpuSeconds, writeTime } from './file-times.ts';
import { computingFiles, recordedSeconds } from './test-files.ts';
import { importsOf, linesOf } from './tree.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Distinguishes two runs in one checkout. */
const DIRECTORY = join(ROOT, '.cache', 'batches', String(process.pid));

/** What a file changes or measures for its whole process: it has one of its own. */
const OF_THE_PROCESS =
  /process\.env\[[^\]]*\] =(?!=)|process\.(on|once|exit|chdir|cpuUsage|memoryUsage|getActiveResourcesInfo|emitWarning)\b|process\.(stdout|stderr)\b(?!\.write\()|(?<!\w\.)mock\.|globalThis(?!\.process\.env)|eventLoop|--expose-gc|HeapS|heapUsed|console\.\w+ =/;

/** Whether a file sets a variable of its process and does not delete it, or the other way round. */
function leavesVariables(lines: readonly string[]): boolean {
  const named = (pattern: RegExp): Set<string> =>
    new Set(lines.flatMap((line) => [...line.matchAll(pattern)].map(([, name]) => name ?? '')));
  const [set, deleted] = [named(/process\.env\.(\w+) =(?!=)/g), named(/delete process\.env\.(\w+)/g)];
  return set.size !== deleted.size || [...set].some((name) => !deleted.has(name));
}

/**
 * Whether a file awaits outside of its functions: it has a process of its own. Node.js finds the test that a `describe` is
 * part of by the promise that was awaited last. One that an earlier file made (`Lazy`, or what asks once whether a store
 * is there) leads to the test of that file, which has ended.
 */
const awaitsAtItsTop = (lines: readonly string[]): boolean =>
  lines.some((line, at) => {
    if (!/\bawait\b/.test(line.replaceAll(/'[^']*'/g, '')) || /\basync\b/.test(line)) return false;
    const begins = /^\s/.test(line) ? (lines[at - 1] ?? '') : line;
    return /^[a-z]/.test(begins) && (begins === line || /[=([]$/.test(begins));
  });

/** A file that takes much longer than others delays its whole batch; a batch that is killed loses all of its files. */
interface Limits {
  readonly longestSeconds: number;
  readonly batchSeconds: number;
}
const OF_COMPUTING: Limits = { longestSeconds: 20, batchSeconds: 80 };
const OF_PROGRAMS: Limits = { longestSeconds: 50, batchSeconds: 150 };
/** Most of these seconds the files wait for pages, while other lanes have the processor. */
const OF_BROWSERS: Limits = { longestSeconds: 150, batchSeconds: 180 };
const BATCH_FILES = 60;
/** Fewer files end sooner side by side. */
const SHARED_FROM_FILES = 30;

/** Modules that start the browser which the files of a process share. */
const BROWSER = 'test/dashboard/browser.ts';

interface Programs {
  /** Batches of files that only compute, in the order of the files. */
  readonly computing: readonly string[];
  /** The longest first. */
  readonly others: readonly string[];
}

/**
 * Several test files in one process, one after the other. A process loads Node.js and the product's packages before its
 * first test: for many files this is most of their time. Files with pages of the dashboard share a browser. Answers
 * programs.
 */
export function inBatches(files: readonly string[]): Programs {
  const seconds = recordedSeconds();
  const secondsOf = (file: string): number => seconds[file] ?? 1;
  const mayShare = (file: string, { longestSeconds }: Limits): boolean =>
    secondsOf(file) <= longestSeconds &&
    !linesOf(file).some((line) => OF_THE_PROCESS.test(line)) &&
    !leavesVariables(linesOf(file)) &&
    !awaitsAtItsTop(linesOf(file));
  const computing = new Set(computingFiles(files));
  const browses = (file: string): boolean => importsOf(file).some(({ to }) => to === BROWSER);
  const batchesOf = (limits: Limits, chosen: (file: string) => boolean): Batch[] =>
    cut(
      files.filter((file) => chosen(file) && mayShare(file, limits)),
      secondsOf,
      limits,
    );
  const first = batchesOf(OF_COMPUTING, (file) => computing.has(file));
  // At full size each of the others may take as long as a process may.
  const alsoOthers = files.length >= SHARED_FROM_FILES && process.env.SVC_TEST_SIZE !== 'long';
  const begun = new Set(first.flatMap((batch) => batch.files));
  const batches = !alsoOthers
    ? []
    : [...batchesOf(OF_BROWSERS, browses), ...batchesOf(OF_PROGRAMS, (file) => !begun.has(file) && !browses(file))];
  const shared = new Set([...first, ...batches].flatMap((batch) => batch.files));
  const alone = files.filter((file) => !shared.has(file)).map((file) => ({ path: file, seconds: secondsOf(file) }));
  const written = writeBatches([...first, ...batches]);
  const others = [...written.slice(first.length), ...alone].toSorted((a, b) => b.seconds - a.seconds);
  const pathsOf = (programs: readonly { readonly path: string }[]): string[] => programs.map(({ path }) => path);
  return { computing: pathsOf(written.slice(0, first.length)), others: pathsOf(others) };
}

interface Batch {
  readonly files: string[];
  seconds: number;
}

/** Files that follow each other stay together: those of one folder load the same. */
function cut(files: readonly string[], secondsOf: (file: string) => number, { batchSeconds }: Limits): Batch[] {
  const batches: Batch[] = [];
  for (const file of files) {
    let last = batches.at(-1);
    if (last === undefined || last.seconds + secondsOf(file) > batchSeconds || last.files.length >= BATCH_FILES) {
      last = { files: [], seconds: 0 };
      batches.push(last);
    }
    last.files.push(file);
    last.seconds += secondsOf(file);
  }
  return batches;
}

function writeBatches(batches: readonly Batch[]): { readonly path: string; readonly seconds: number }[] {
  mkdirSync(DIRECTORY, { recursive: true });
  process.once('exit', () => rmSync(DIRECTORY, { recursive: true, force: true }));
  const here = pathToFileURL(import.meta.filename).href;
  return batches.map(({ files, seconds }, at) => {
    const path = join(DIRECTORY, `${at + 1}.test.ts`);
    writeFileSync(path, `import { runBatch } from '${here}';\nawait runBatch(${JSON.stringify(files)});\n`);
    return { path: relative(ROOT, path), seconds };
  });
}

/** Clean-ups of what the files of this batch share; null in the process of a single file. */
let endings: (() => Promise<void>)[] | null = null;

/** Calls `end` after the last file of the batch. False: this process runs a single file, which cleans up itself. */
export function atEndOfBatch(end: () => Promise<void>): boolean {
  endings?.push(end);
  return endings !== null;
}

/** Called in the process of a batch. Each file is a test with its own as parts, and is loaded when the one before has ended. */
export async function runBatch(files: readonly string[]): Promise<void> {
  // Tests may wait for timers that do not keep a process: test/deadline.ts ends what never ends.
  const keep = setInterval(() => {}, 60_000);
  endings = [];
  // Loaded already, before the batch; in the process of the run it would end that.
  const { endUnlessClosed, endUnlessFileEnds } = await import('../deadline.ts');
  for (const file of files) {
    endUnlessFileEnds(file);
    const [begun, before] = [performance.now(), cpuSeconds()];
    await test(file, async () => {
      await import(pathToFileURL(join(ROOT, file)).href);
    });
    writeTime(file, { seconds: (performance.now() - begun) / 1_000, cpuSeconds: cpuSeconds() - before });
  }
  for (const end of endings) await end();
  clearInterval(keep);
  endUnlessClosed();
}
