import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { eventsOf, type StreamedEvent } from '../../clients/typescript/event-stream.ts';
import { NodeProcess } from '../support/node-process.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { deploy, start, untilAnswered } from './calls.ts';
import { startStores, storesMissing } from './stores.ts';

const MANIFEST = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: echo, version: "1.0.0" }
spec:
  runtime: { isolation: process }
  task: { prompt_template: "{{input}}" }
  advanced: { bootstrap_path: /bin/echo }
`;
const RUNS = sample({ normal: 8, long: 60 });
const WITHIN_MS = 90_000;

const Listed = z.object({
  runs: z.array(z.looseObject({ id: z.string(), status: z.string() })),
  next: z.string().optional(),
});

type Run = z.infer<typeof Listed>['runs'][number];

const FeedEvent = z.object({ run: z.looseObject({ id: z.string(), status: z.string() }).optional() });

/** Reads the feed of whichever node is up, one after the other, and keeps the last state of each run. */
class Reader {
  readonly ids: number[] = [];
  readonly names: string[] = [];
  readonly last = new Map<string, Run>();
  readonly #stop = new AbortController();
  #place = '';

  async follow(nodes: readonly NodeProcess[]): Promise<void> {
    for (let at = 0; !this.#stop.signal.aborted; at += 1) {
      const node = nodes[at % nodes.length];
      await this.#connection(node ?? assert.fail()).catch(() => pause(50));
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  async #connection(node: NodeProcess): Promise<void> {
    const signal = this.#stop.signal;
    const headers = this.#place === '' ? {} : { 'last-event-id': this.#place };
    const url = await Promise.race([node.url, pause(100).then(() => Promise.reject(new Error('the node is down')))]);
    const response = await fetch(`${url}/v1/feed`, { headers, signal });
    if (!response.ok || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
    for await (const record of eventsOf<unknown>(response.body)) this.#take(record);
  }

  #take({ id, place, event }: StreamedEvent<unknown>): void {
    this.ids.push(id);
    this.#place = place;
    this.names.push(...Object.keys(z.looseObject({}).parse(event)));
    const { run } = FeedEvent.parse(event);
    if (run !== undefined) this.last.set(run.id, run);
  }
}

test('a reader of the feed misses no change while both nodes of a fleet on Redis are killed in turn', {
  skip: storesMissing('redis'),
  timeout: 2 * WITHIN_MS,
}, async () => {
  const stores = await startStores('redis');
  const second = await mkdtemp(join(tmpdir(), 'svc-feed-'));
  const nodes = [stores.args, stores.args.with(1, second)].map((args) => new NodeProcess([...args]));
  const signal = AbortSignal.timeout(WITHIN_MS);
  const reader = new Reader();
  let reading = Promise.resolve();
  try {
    const [one, two] = nodes;
    if (one === undefined || two === undefined) assert.fail();
    for (const node of nodes) node.spawn();
    const agent = await deploy(one, { manifest: MANIFEST }, signal);
    await two.url;
    reading = reader.follow([two, one]);
    await waitUntil('the feed is open', () => reader.ids.length > 0, WITHIN_MS);
    const ids: string[] = [];
    for (let n = 0; n < RUNS; n += 1) {
      const by = n % 2 === 0 ? one : two;
      ids.push(await start(by, agent, `run-${n}`, signal));
      if (n % 6 !== 5) continue;
      const killed = n % 12 === 5 ? one : two;
      await killed.kill();
      killed.spawn();
    }
    const ended = async (): Promise<readonly Run[]> => {
      const { runs } = Listed.parse(await untilAnswered(one, `/v1/runs?limit=1000&status=completed`, {}, signal));
      return runs;
    };
    await waitUntil('all runs have ended', async () => (await ended()).length === RUNS, WITHIN_MS);
    const listed = await ended();
    await waitUntil(
      'the feed has the end of each run',
      () => listed.every(({ id }) => reader.last.get(id)?.status === 'completed'),
      WITHIN_MS,
    );
    assert.deepEqual(listed.map(({ id }) => id).sort(), ids.sort());
    // Only the node that answers knows what a run waits for; the rest of the text is equal.
    for (const run of listed) assert.deepEqual(reader.last.get(run.id), run);
    assert.deepEqual(
      reader.ids,
      reader.ids.map((_, index) => index + 1),
    );
    assert.ok(!reader.names.includes('reset'));
  } finally {
    reader.stop();
    await reading;
    for (const node of nodes) await node.kill();
    await stores.destroy();
    await rm(second, { recursive: true, force: true });
  }
});
