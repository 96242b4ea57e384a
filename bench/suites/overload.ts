import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { CrowdedNode } from '../../test/faults/rounds/crowded-node.ts';
import { type StoreKind, storesMissing } from '../../test/kill/stores.ts';
import type { AnswersSeen } from '../overload/answers-probe.ts';
import type { ClientsSeen } from '../overload/clients.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const HERE = join(import.meta.dirname, '..', 'overload');
const WORKFLOW = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'pure', version: '1.0.0', description: 'for a measurement' },
  spec: { initial_state: 'DONE', states: { DONE: { kind: 'System', command: 'finalize', transitions: [] } } },
});
/** Runs that stream meanwhile, a piece each 100 ms. */
const RUNNING = 8;
const PIECE_MS = 100;
const BEFORE_MS = 4_000;

const STORES: readonly { readonly kind: StoreKind; readonly name: string }[] = [
  { kind: 'sqlite', name: 'embedded' },
  { kind: 'redis', name: 'Redis' },
];

/** More clients than a node can serve: how many are accepted or refused, how fast each is answered, and how the accepted runs end. */
export async function overload(plan: Plan): Promise<Section> {
  const isWhole = plan.repetitions > 1;
  const size = { clients: isWhole ? 2_000 : 400, lastsMs: isWhole ? 15_000 : 4_000 };
  const beside = process.env.SVC_BENCH_BESIDE;
  const versions = [
    { name: 'this version' },
    ...(beside === undefined ? [] : [{ name: 'beside', main: join(beside, 'main.ts') }]),
  ];
  const rows: string[][] = [];
  const only = process.env.SVC_BENCH_STORE;
  for (const { kind, name: store } of STORES.filter(({ name }) => only === undefined || only === name)) {
    const missing = storesMissing(kind);
    if (missing !== false) {
      rows.push([store, `omitted: ${missing}`]);
      continue;
    }
    for (const version of versions) {
      for (const manner of ['heeds', 'ignores'] as const) {
        rows.push([store, version.name, manner, ...(await measure(kind, version, manner, size))]);
      }
    }
  }
  const head = [
    ...[
      'Store',
      'Version',
      'Retry-After',
      'Taken a second',
      'Taken p50, p99 (ms)',
      'Refused',
      'Refused in the server p50, p99 (ms)',
    ],
    ...[
      'Refused at the client p50, p99 (ms)',
      'Resets',
      'Without Retry-After, other',
      'Pieces a second of what runs, before and during',
    ],
    'Loop held p50, max (ms)',
  ];
  return {
    title: `Overload: ${whole(size.clients)} clients in a closed loop for ${whole(size.lastsMs / 1_000)} s`,
    text: [
      table(head, rows),
      `${RUNNING} runs stream a piece each ${PIECE_MS} ms throughout. Clients and node share the machine: the clients alone take a core.`,
    ].join('\n\n'),
  };
}

async function measure(
  store: StoreKind,
  { main }: { readonly main?: string },
  manner: 'heeds' | 'ignores',
  { clients, lastsMs }: { readonly clients: number; readonly lastsMs: number },
): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-overload-'));
  const file = join(directory, 'answers');
  const env = { NODE_OPTIONS: `--import ${join(HERE, 'answers-probe.ts')}`, SVC_BENCH_ANSWERS: file };
  const node = await CrowdedNode.start(store, {}, { env, ...(main === undefined ? {} : { main }) });
  try {
    const pieces = Math.ceil((BEFORE_MS + lastsMs + 60_000) / PIECE_MS);
    node.models.answer(() => ({ chunks: Array.from({ length: pieces }, () => 'word '), delayMs: PIECE_MS }));
    const agent = await node.agent('works', 'one');
    await node.call('POST', '/v1/workflows?force=true', WORKFLOW);
    const stop = new AbortController();
    const counts = { pieces: 0 };
    for (let n = 0; n < RUNNING; n += 1) {
      const id = await node.start(agent, 'go');
      follow(`${node.url}/v1/executions/${id}/stream`, stop.signal, counts).catch((error: unknown) => {
        if (!stop.signal.aborted) console.error('a run that streams was not followed', error);
      });
    }
    // Not a wait: the time over which the pieces are counted.
    await pause(1_000);
    const before = await over(counts, () => pause(BEFORE_MS));
    const from = Date.now();
    const args = [join(HERE, 'clients.ts'), node.url, String(clients), String(lastsMs), manner];
    const run = promisify(execFile)(process.execPath, args, { maxBuffer: 1e9 });
    const during = await over(counts, () => pause(lastsMs));
    const { stdout } = await run;
    await pause(1_000);
    stop.abort();
    const seen: ClientsSeen = JSON.parse(stdout);
    const answers = (await answersIn(file)).filter(({ at }) => at > from);
    const inServer = answers.flatMap(({ refused }) => refused);
    return [
      whole((seen.taken.length * 1_000) / lastsMs),
      two(seen.taken, 0.5, 0.99),
      whole(seen.refused.length),
      two(inServer, 0.5, 0.99),
      two(seen.refused, 0.5, 0.99),
      whole(seen.resets),
      `${whole(seen.bare)}, ${whole(seen.others)}`,
      `${before.toFixed(0)}, ${during.toFixed(0)}`,
      two(
        answers.map(({ heldMs }) => heldMs),
        0.5,
        1,
      ),
    ];
  } finally {
    await node.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Pieces a second while `work` lasts. */
async function over(counts: { readonly pieces: number }, work: () => Promise<unknown>): Promise<number> {
  const [at, had] = [performance.now(), counts.pieces];
  await work();
  return ((counts.pieces - had) * 1_000) / (performance.now() - at);
}

/** Counts the pieces in a run's event stream. */
async function follow(url: string, signal: AbortSignal, counts: { pieces: number }): Promise<void> {
  const { body } = await fetch(url, { signal });
  if (body === null) return;
  const decoder = new TextDecoder();
  for await (const bytes of body) counts.pieces += decoder.decode(bytes, { stream: true }).split('word ').length - 1;
}

async function answersIn(file: string): Promise<AnswersSeen[]> {
  const text = await readFile(file, 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

function two(times: readonly number[], low: number, high: number): string {
  if (times.length === 0) return 'none';
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(0);
  return `${at(low)}, ${at(high)}`;
}
