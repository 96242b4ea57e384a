import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** How long the process of one test file ran, and the processor time of it and of the programs it started and ended. */
export interface FileTime {
  readonly file: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Where the processes of test files write their times; set by the run, empty when a file is run alone. */
const TIMES = 'SVC_TEST_TIMES';

/** Called in the process of a test file: writes its time when it exits. */
export function writeTimeAtExit(): void {
  const program = process.argv[1];
  // What a test forks is started with the same arguments of Node.js.
  if (process.env[TIMES] === undefined || program?.endsWith('.test.ts') !== true) return;
  process.once('exit', () => {
    const seconds = process.uptime() - written.seconds;
    writeTime(relative(process.cwd(), program), { seconds, cpuSeconds: cpuSeconds() - written.cpuSeconds });
  });
}

/** What this process has written already, of the files that it ran. */
const written = { seconds: 0, cpuSeconds: 0 };

/** The time of a file, written by the process that ran it. */
export function writeTime(file: string, { seconds, cpuSeconds: cpu }: Omit<FileTime, 'file'>): void {
  const path = process.env[TIMES];
  if (path === undefined) return;
  written.seconds += seconds;
  written.cpuSeconds += cpu;
  appendFileSync(path, `${JSON.stringify({ file, seconds, cpuSeconds: cpu })}\n`);
}

/** Called in the run, before the files start; `read` gives the times so far, the longest first, and removes them. */
export function collectTimes(): { read(): FileTime[] } {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-times-'));
  const path = join(directory, 'times');
  process.env[TIMES] = path;
  return {
    read() {
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
      rmSync(directory, { recursive: true });
      const times: FileTime[] = lines.filter((line) => line !== '').map((line) => JSON.parse(line));
      return times.sort((a, b) => b.seconds - a.seconds);
    },
  };
}

/** Of this process so far. Linux counts the children that were waited for; elsewhere it is this process alone. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  if (process.platform !== 'linux') return own;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  const TICKS_A_SECOND = 100;
  return own + (Number(fields[13]) + Number(fields[14])) / TICKS_A_SECOND;
}
