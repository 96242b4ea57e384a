import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ToolsUnderTest, toolsUnderTest } from '../../test/tools/granted-tools.ts';
import { growTree, NEEDLE, type SourceTree } from '../files/tree.ts';
import { closedLoop, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const FILES = 50_000;
const SMALL_FILES = 5_000;
const ROUNDS = 5;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

type Run = () => Promise<number>;
/** Programs that answer one question, by name; each returns how many matches it found. */
type Peers = Readonly<Record<string, Run>>;

/** fs.grep, fs.glob and fs.read through the effect of tools on a tree of 50,000 files, beside ripgrep and grep. */
export async function fileTools(plan: Plan): Promise<Section> {
  await using bench = await toolsUnderTest();
  const directory = await bench.directory();
  const rg = ripgrep();
  const tree = growTree(directory, plan.repetitions === 1 ? SMALL_FILES : FILES);
  const rounds = plan.repetitions === 1 ? 1 : ROUNDS;
  const questions = { ...grepQuestions(bench, directory, rg), ...globQuestions(bench, directory, rg) };
  const rows: string[][] = [];
  for (const [question, peers] of Object.entries(questions))
    rows.push(...(await compare(question, peers, tree, rounds)));
  const reads = await readRows(bench, directory, tree, plan);
  const cold = await coldRows(bench, directory, rg, tree);
  const size = `${whole(tree.files)} files in ${whole(tree.directories)} directories, ${whole(tree.bytes / 1e6)} MB`;
  return {
    title: `File tools: ${size}`,
    text: [
      ...(rg === null
        ? ['**ripgrep is not installed: its rows are missing** (Debian: `apt-get install ripgrep`).']
        : []),
      table(['question', 'peer', 'found', 'ms', 'low–high', 'MB/s', 'times that svc takes as long'], rows),
      table(['read of one file', 'in flight', 'reads/s', 'p50 ms', 'p99 ms'], reads),
      ...(cold.length === 0 ? [] : [table(['nothing in the page cache', 'ms', 'MB/s'], cold)]),
      NOTES,
    ].join('\n\n'),
  };
}

const NOTES = `The tree is in the page cache, except where a table says otherwise (\`/proc/sys/vm/drop_caches\`). svc: from the input of
the effect \`tool.call\` to its outcome, its thread running already; ripgrep and grep: from the start of their process to
its end, which alone takes a few ms. ripgrep gets the option to search every file (\`-uu\`), as svc does; it and svc use both cores, \`-j1\` and grep one.
Medians of ${ROUNDS}; the peers take turns.`;

function ripgrep(): string | null {
  try {
    execFileSync('rg', ['--version'], { stdio: 'ignore' });
    return 'rg';
  } catch {
    console.error('ripgrep is not installed: its rows are MISSING (Debian: apt-get install ripgrep)');
    return null;
  }
}

function grepQuestions(bench: ToolsUnderTest, directory: string, rg: string | null): Record<string, Peers> {
  const question = (pattern: string): Peers => ({
    'svc fs.grep': async () => lines(await bench.text('fs.grep', { pattern, path: '/workspace' })),
    ...(rg === null
      ? {}
      : {
          ripgrep: command(directory, rg, ['-uu', '-n', '--no-heading', pattern, '.']),
          'ripgrep -j1': command(directory, rg, ['-uu', '-j1', '-n', '--no-heading', pattern, '.']),
        }),
    'grep -rnE': command(directory, 'grep', ['-rnE', pattern, '.']),
  });
  return {
    [`grep a word: \`${NEEDLE}\``]: question(NEEDLE),
    'grep with a word in it: `needle_[0-9a-f]+ [0-9]+`': question('needle_[0-9a-f]+ [0-9]+'),
    'grep, either of two: `(needle\\|haystack)_7`': question('(needle|haystack)_7'),
    'grep without any word: `[A-Z][a-z]+[0-9]`': question('[A-Z][a-z]+[0-9]'),
  };
}

function globQuestions(bench: ToolsUnderTest, directory: string, rg: string | null): Record<string, Peers> {
  return {
    'glob: `**/part1/*8.md`': {
      'svc fs.glob': async () => lines(await bench.text('fs.glob', { pattern: '**/part1/*8.md', path: '/workspace' })),
      ...(rg === null ? {} : { 'ripgrep --files': command(directory, rg, ['-uu', '--files', '-g', '**/part1/*8.md']) }),
      find: command(directory, 'find', ['.', '-path', '*/part1/*8.md']),
    },
  };
}

const lines = (text: string): number => (text === '' ? 0 : text.split('\n').length);
const run = promisify(execFile);

/** Both tools of the shell end with 1 when they found nothing. */
const command =
  (cwd: string, name: string, args: readonly string[]): Run =>
  async () => {
    try {
      const { stdout } = await run(name, args, {
        ...{ cwd, maxBuffer: MAX_OUTPUT_BYTES },
        env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' },
      });
      return lines(stdout.trimEnd());
    } catch (thrown) {
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 1) return 0;
      throw thrown;
    }
  };

async function compare(question: string, peers: Peers, tree: SourceTree, rounds: number): Promise<string[][]> {
  const times = new Map<string, number[]>(Object.keys(peers).map((name) => [name, []]));
  const found = new Map<string, number>();
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, ask] of Object.entries(peers)) {
      const startedAt = performance.now();
      found.set(name, await ask());
      if (round >= 0) times.get(name)?.push(performance.now() - startedAt);
    }
  }
  if (new Set(found.values()).size !== 1) {
    throw new Error(`${question}: they found ${JSON.stringify(Object.fromEntries(found))}`);
  }
  const svcMs = middle(times.get(Object.keys(peers)[0] ?? '') ?? []);
  return [...times].map(([name, all], at) => {
    const ms = middle(all);
    const range = `${Math.min(...all).toFixed(0)}–${Math.max(...all).toFixed(0)}`;
    const ratio = at === 0 ? '' : (svcMs / ms).toFixed(2);
    return [question, name, whole(found.get(name) ?? 0), ms.toFixed(0), range, whole(tree.bytes / 1e3 / ms), ratio];
  });
}

async function readRows(bench: ToolsUnderTest, directory: string, tree: SourceTree, plan: Plan): Promise<string[][]> {
  const { sample } = tree;
  let at = 0;
  const next = (): string => {
    at += 1;
    return sample[at % sample.length] ?? '';
  };
  const peers = {
    'svc fs.read': async () => void (await bench.text('fs.read', { path: next() })),
    'bare readFile': async () => void (await readFile(join(directory, next()), 'utf8')),
  };
  const rows: string[][] = [];
  for (const inFlight of [1, 16]) {
    for (const [name, read] of Object.entries(peers)) {
      const runs = [];
      for (let round = 0; round < plan.repetitions; round += 1) {
        runs.push(await closedLoop({ inFlight, warmUpMs: plan.warmUpMs / 2, runMs: plan.runMs / 2 }, read));
      }
      const { perSecond, p50Ms, p99Ms } = medianOf(runs);
      rows.push([name, `${inFlight}`, whole(perSecond), p50Ms.toFixed(2), p99Ms.toFixed(2)]);
    }
  }
  return rows;
}

/** Needs the right to drop the page cache; where it is missing there are no rows. */
async function coldRows(
  bench: ToolsUnderTest,
  directory: string,
  rg: string | null,
  tree: SourceTree,
): Promise<string[][]> {
  const [peers] = Object.values(grepQuestions(bench, directory, rg));
  const rows: string[][] = [];
  for (const [name, ask] of Object.entries(peers ?? {})) {
    try {
      execFileSync('sync');
      writeFileSync('/proc/sys/vm/drop_caches', '3');
    } catch {
      console.error('the page cache cannot be dropped here: rows of a cold cache are omitted');
      return [];
    }
    const startedAt = performance.now();
    await ask();
    const ms = performance.now() - startedAt;
    rows.push([name, ms.toFixed(0), whole(tree.bytes / 1e3 / ms)]);
  }
  return rows;
}

const middle = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
