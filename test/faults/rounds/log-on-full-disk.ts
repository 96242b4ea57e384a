import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { SeededRandom } from '../../kill/random.ts';
import { NodeProcess } from '../../support/node-process.ts';
import { limitedFiles, smallFileSystem } from '../../support/small-disk.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';

const RECOVERY_MS = 30_000;
const ENDED = new Set(['completed', 'failed', 'cancelled']);
/** A read while the disk is full; a node that waits for its log answers nothing. */
const READ_WITHIN_MS = 5_000;

const WORKFLOW = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'short', version: '1.0.0', description: 'ends at once' },
  spec: { initial_state: 'END', states: { END: { kind: 'System', command: 'finalize', env: {}, transitions: [] } } },
});

/** The log was written with retries on the node's only thread, which ended it when there was room again. */
export const logOnFullDisk: FaultCase = {
  name: 'log-on-full-disk',
  title:
    'Data and log are on a disk that is full: reads answer, starts are refused, and all goes on when there is room',
  stores: ['sqlite'],
  open: openWorld,
};

async function openWorld(): Promise<FaultWorld> {
  const disk = (await smallFileSystem()) ?? (await limitedFiles());
  if (disk === null) throw new Error('no disk can be made full by this user');
  const directory = await mkdtemp(join(tmpdir(), 'svc-full-log-'));
  const config = join(directory, 'svc.yaml');
  const spec = { observability: { logging: { level: 'debug' } } };
  await writeFile(config, stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec }));
  const log = join(disk.directory, 'node.log');
  const descriptor = openSync(log, 'a');
  const node = new NodeProcess(['--data', join(disk.directory, 'data'), '--config', config], {}, descriptor);
  const close = async (): Promise<void> => {
    await node.kill();
    closeSync(descriptor);
    await disk[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  };
  const call = async (method: string, path: string, body?: string, type = 'application/json'): Promise<Response> =>
    fetch(`${await node.url}${path}`, {
      method,
      signal: AbortSignal.timeout(READ_WITHIN_MS),
      ...(body === undefined ? {} : { body, headers: { 'content-type': type } }),
    });
  try {
    node.spawn();
    const deployed = await call('POST', '/v1/workflows', WORKFLOW, 'application/yaml');
    if (!deployed.ok) throw new Error(`deploy: ${await deployed.text()}`);
  } catch (error) {
    await close();
    throw error;
  }
  const start = async (): Promise<string | null> => {
    const answer = await call('POST', '/v1/workflows/short/run', '{}').catch(() => null);
    return answer?.ok === true ? field(await answer.json(), 'execution_id') : null;
  };
  const statusOf = async (id: string): Promise<string> => {
    const answer = await call('GET', `/v1/workflows/executions/${id}`).catch(() => null);
    return answer?.ok === true ? field(await answer.json(), 'status') : 'unanswered';
  };
  const dropped = (): number =>
    [...readFileSync(log, 'utf8').matchAll(/"dropped_lines":(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0);

  async function round(seed: number): Promise<RoundOutcome> {
    const random = new SeededRandom(seed);
    const ids: string[] = [];
    const notes: string[] = [];
    const before = await start();
    if (before === null) notes.push('a start with room on the disk was refused');
    else ids.push(before);
    const droppedBefore = dropped();
    await disk?.fill(node.pid);
    let [reads, unread] = [0, 0];
    for (let n = random.between(5, 20); n > 0; n -= 1) {
      // Each is a line of the log, and what has room in a page is still kept.
      const wrong = await call('GET', `/v1/no-such-path/${'x'.repeat(300)}`).catch(() => null);
      const read = before === null ? null : await statusOf(before);
      reads += 2;
      unread += (wrong?.status === 404 ? 0 : 1) + (read === 'unanswered' ? 1 : 0);
      const id = await start();
      if (id !== null) ids.push(id);
    }
    await disk?.free(node.pid);
    const since = performance.now();
    const after = await waitUntil('a start is taken again', start, RECOVERY_MS).catch(() => null);
    if (after !== null) ids.push(after);
    const ended = async (id: string): Promise<boolean> => ENDED.has(await statusOf(id));
    const all = async (): Promise<boolean> => (await Promise.all(ids.map(ended))).every(Boolean);
    await waitUntil('all runs end', all, RECOVERY_MS).catch(() => undefined);
    const recoveryMs = performance.now() - since;
    const statuses = await Promise.all(ids.map(statusOf));
    if (unread > 0) notes.push(`${unread} of ${reads} reads were not answered while the disk was full`);
    const newlyDropped = dropped() - droppedBefore;
    if (newlyDropped > 0) notes.push(`${newlyDropped} lines of the log were dropped and said`);
    const nodesEnded = node.crashed ? 1 : 0;
    if (nodesEnded > 0) node.spawn();
    return {
      ...{ runs: ids.length, nodesEnded, repeated: 0, recoveryMs, notes },
      hung: statuses.filter((status) => !ENDED.has(status)).length + (after === null ? 1 : 0),
      lost: statuses.filter((status) => status === 'failed').length + unread,
    };
  }

  return { round, close };
}

const field = (body: unknown, name: string): string => {
  if (typeof body !== 'object' || body === null) return '';
  return String(new Map(Object.entries(body)).get(name) ?? '');
};
