/**
 * Runs the test files, fast suites first. It ends with a table of the slowest files, the failures of all of them and one
 * plain line `N passed, N failed, N skipped`.
 *
 *   npm test                       every test, the repeated ones as a sample
 *   npm test -- --quick            only files that start no server, container, browser or build, and take few seconds
 *   npm run test:long              every test at full size
 *   npm test -- runtime contract   files whose path holds one of the words
 *   npm test -- --record           writes test/durations.json: longer files start earlier
 *
 * With CI=true a skipped test is a failure: what could not be run was not shown.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { dirname, relative } from 'node:path';
import { type EventData, run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { inBatches } from './support/batches.ts';
import { buildPrograms } from './support/built-programs.ts';
import { buildMongo } from './support/ferretdb.ts';
import { collectTimes, type FileTime } from './support/file-times.ts';
import { withFilesInMemory } from './support/files-in-memory.ts';
import { COMPILED, SHORT_LIVED } from './support/program-options.ts';
import {
  computingFiles,
  durationsFile,
  inOrder,
  quickFiles,
  recordedSeconds,
  testFiles,
} from './support/test-files.ts';

/** Many files wait for a time-out or for a program to start: two more than there are processors keep all of them busy. */
const LANES = Math.min(availableParallelism() + 2, 4);
const TABLE_ROWS = 15;
/** To build the programs takes as long as to start six nodes from their sources. */
const BUILT_FROM_FILES = 20;
const ALL_TIMES = fileURLToPath(new URL('../.cache/test-times.txt', import.meta.url));
const MOST_REASON_CHARACTERS = 2_000;
/** Shorter files need no place of their own in the order. */
const RECORDED_FROM_SECONDS = 5;

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const flags = process.argv.slice(2).filter((word) => word.startsWith('--'));
const unknown = flags.filter((flag) => !['--quick', '--long', '--record'].includes(flag));
if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(' ')}; known are --quick, --long and --record`);
if (flags.includes('--quick')) process.env.SVC_TEST_SIZE = 'quick';
if (flags.includes('--long')) process.env.SVC_TEST_SIZE = 'long';

const named = testFiles().filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
const files = inOrder(flags.includes('--quick') ? quickFiles(named) : named);

/** Of all programs on this machine since it started, where the system counts it. */
const machineSeconds = (): number =>
  cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0) / 1_000;

const rowOf = ({ file, seconds, cpuSeconds }: FileTime): string =>
  `${seconds.toFixed(1).padStart(8)} ${cpuSeconds.toFixed(1).padStart(8)}  ${file}`;

function byFolder(times: readonly FileTime[]): FileTime[] {
  const folders = Object.entries(Object.groupBy(times, ({ file }) => file.split('/').slice(0, 2).join('/')));
  const sums = folders.map(([folder, files = []]) => ({
    file: `${folder}: ${files.length} files`,
    seconds: files.reduce((sum, { seconds }) => sum + seconds, 0),
    cpuSeconds: files.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  }));
  return sums.sort((a, b) => b.cpuSeconds - a.cpuSeconds);
}

/** Every file is in `ALL_TIMES`. */
function table(times: readonly FileTime[], machine: number): string {
  const folders = byFolder(times);
  writeFileSync(ALL_TIMES, `${[...folders, ...times].map(rowOf).join('\n')}\n`);
  const cpu = times.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0).toFixed(0);
  return [
    ' seconds      cpu  slowest files',
    ...times.slice(0, TABLE_ROWS).map(rowOf),
    ' seconds      cpu  folders',
    ...folders.slice(0, TABLE_ROWS).map(rowOf),
    // Not counted for a file: what outlived the program that started it, such as containers and parts of a browser.
    `${cpu} s of processor time for files, ${machine.toFixed(0)} s on the machine, in ${process.uptime().toFixed(0)} s`,
  ].join('\n');
}

function record(times: readonly FileTime[]): void {
  const seconds = { ...recordedSeconds() };
  for (const time of times) {
    if (time.seconds >= RECORDED_FROM_SECONDS) seconds[time.file] = Math.round(time.seconds);
    else delete seconds[time.file];
  }
  const all = testFiles();
  const kept = Object.entries(seconds).filter(([file]) => all.includes(file));
  kept.sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}

// Without it half of the time in which a file loads the product goes to compiling it, and hundreds of files do.
process.env.NODE_COMPILE_CACHE ??= COMPILED.NODE_COMPILE_CACHE;
mkdirSync(dirname(ALL_TIMES), { recursive: true });
const areBuilt = files.length - computingFiles(files).length >= BUILT_FROM_FILES;
// A long run has its files on the disk.
if (areBuilt && !flags.includes('--long')) withFilesInMemory();
const machineBefore = machineSeconds();
const count = { passed: 0, failed: 0, skipped: 0 };
/** Said again at the end: of a long log often only the end is kept. */
const failures: string[] = [];
const times = collectTimes();
const options = [...SHORT_LIVED, '--import', new URL('./deadline.ts', import.meta.url).href];
/** Of one program, which may be a batch of many files; test/deadline.ts ends the one that does not end. */
const MOST_MINUTES = 90;
const isFile = (name: string): boolean => files.includes(name) || name.endsWith('.test.ts');

/** Whether a suite or file failed only since a test in it did. */
const isOfItsTests = (error: object): boolean => 'failureType' in error && error.failureType === 'subtestsFailed';

function failureText({ name, file, line, details }: EventData.TestFail): string {
  const { error } = details;
  const reason = inspect(error.cause ?? error).slice(0, MOST_REASON_CHARACTERS);
  const place = file === undefined ? '' : ` (${relative(process.cwd(), file)}:${line})`;
  return `FAILED ${name}${place}\n${reason.replaceAll(/^/gm, '    ')}`;
}

/** Runs the programs. What they say is printed behind what those of `before` said. */
async function ended(programs: readonly string[], lanes: number, before: Promise<void>): Promise<void> {
  if (programs.length === 0) return;
  const timeout = MOST_MINUTES * 60_000;
  const stream = run({ files: [...programs], concurrency: lanes, timeout, execArgv: options });
  stream.on('test:pass', (test) => {
    const isSkipped = test.skip !== undefined && test.skip !== false;
    // The tests of a suite that is skipped are not known: it counts as one.
    if (isSkipped) count.skipped += 1;
    else if (test.details.type !== 'suite' && !isFile(test.name)) count.passed += 1;
  });
  stream.on('test:fail', (test) => {
    if (test.details.type !== 'suite' || test.details.error.cause !== undefined) count.failed += 1;
    if (!isOfItsTests(test.details.error)) failures.push(failureText(test));
  });
  const text = stream.compose(spec);
  await before;
  for await (const chunk of text) process.stdout.write(chunk);
}

const { computing, others } = inBatches(files);
if (areBuilt) {
  // Files that only compute need nothing that is built, and a build is for most of its time on one processor.
  const first = ended(computing, availableParallelism(), Promise.resolve());
  await Promise.all([buildPrograms(), buildMongo()]);
  await Promise.all([first, ended(others, LANES, first)]);
} else await ended([...computing, ...others], LANES, Promise.resolve());

const measured = times.read();
console.log(table(measured, machineSeconds() - machineBefore));
if (flags.includes('--record')) record(measured);
const skippedCounts = process.env.CI === 'true';
for (const text of failures) console.log(text);
if (count.skipped > 0) console.log(`SKIPPED ${count.skipped} tests: a part they need is missing on this machine.`);
const failed = count.failed + (skippedCounts ? count.skipped : 0);
console.log(`${count.passed} passed, ${failed} failed${skippedCounts ? '' : `, ${count.skipped} skipped`}`);
process.exitCode = failed > 0 || count.passed === 0 ? 1 : 0;
