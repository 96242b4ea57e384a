/**
 * Attacks a node of its own with the largest requests that it takes, and with a little more: how long each holds the event
 * loop, CPU ms on the thread of requests, best of three.
 *
 *   npm run attack                  all routes, all listeners, all attempts to leave the sandbox
 *   npm run attack -- listeners     the listeners alone: bodies at and over their bounds, half, slow, many, many in one packet
 *   npm run attack -- fuzz          hostile gRPC messages alone: every method, no INTERNAL, the heap before and after
 *   npm run attack -- WORDS         those whose title holds one of the words
 *
 * SVC_SEED repeats the messages of a run. Without words all attempts to leave the sandbox of commands are made too. Ends with 1 when one holds the loop longer than
 * 250 ms, a lease was lost, or an attempt gained something.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startMongo } from '../support/ferretdb.ts';
import { startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';
import { AttackedNode } from './attacked-node.ts';
import { underAttack } from './caller-under-attack.ts';
import { AGENT, deploy, restAttacks, strangerAttacks } from './cases.ts';
import { GrpcFuzzer, settledHeap } from './grpc-fuzz.ts';
import { type ListenerAttack, listenerAttacks, livenessAttacks } from './listeners.ts';
import { manifestAttacks } from './manifests.ts';
import { measured } from './measure.ts';
import { messageAttacks } from './messages.ts';

const BAR_MS = 50;
const MOST_MS = 250;
const SHOWN = 40;

const LISTENER_MS = 3_000;

const MiB = 1024 * 1024;
const FUZZED_CALLS = 10_000;
const FUZZED_MS = 600_000;
const GROWTH_BYTES = 10 * MiB;

const words = process.argv.slice(2);
const lost = words.length === 0 || words.includes('listeners') ? await attackListeners() : 0;
const faults = words.length === 0 || words.includes('fuzz') ? await fuzz() : 0;
await using node = await AttackedNode.start();
const all = [...(await restAttacks(node, { sample: false })), ...strangerAttacks(node), ...manifestAttacks(node)];
all.push(...(await messageAttacks(node, await deploy(node, '/v1/agents?force=true', AGENT))));
const attacks = all.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
const rows = await measured(node, attacks, BAR_MS);
const worst = rows.toSorted((a, b) => b.heldMs - a.heldMs);
for (const { name, status, heldMs } of worst.slice(0, SHOWN)) {
  console.log(`${heldMs.toFixed(0).padStart(6)} ms  ${String(status).padStart(3)}  ${name}`);
}
const over = rows.filter(({ heldMs }) => heldMs > BAR_MS).length;
const failed = rows.filter(({ heldMs }) => heldMs > MOST_MS).length;
console.log(
  `${rows.length} attacks, ${over} over ${BAR_MS} ms, ${failed} over ${MOST_MS} ms, ${node.leasesLost} leases lost`,
);
const escaped = words.length === 0 && !escapesHold();
process.exitCode = failed > 0 || node.leasesLost > 0 || lost > 0 || faults > 0 || escaped ? 1 : 0;

/** Every attempt to leave the sandbox; a machine without one says so and gains nothing. */
function escapesHold(): boolean {
  const file = join(import.meta.dirname, '..', 'effects', 'programs', 'sandbox-escapes.test.ts');
  const env = { ...process.env, SVC_ATTACK: 'whole' };
  return spawnSync(process.execPath, ['--test', '--test-force-exit', file], { env, stdio: 'inherit' }).status === 0;
}

/** Hostile messages to every gRPC method; faults of the node, of which more heap than before is one. */
async function fuzz(): Promise<number> {
  await using guarded = await AttackedNode.start({ guarded: true });
  await using fuzzer = await GrpcFuzzer.of(guarded);
  const seed = Number(process.env.SVC_SEED ?? randomInt(2 ** 31));
  // What is made at the first calls stays: reflection, caches.
  await fuzzer.run({ seed: seed + 1, calls: FUZZED_CALLS / 10, forMs: FUZZED_MS });
  const before = await settledHeap(guarded);
  const { calls, counts, faults } = await fuzzer.run({ seed, calls: FUZZED_CALLS, forMs: FUZZED_MS });
  const after = await settledHeap(guarded);
  const statuses = Map.groupBy(counts, ([key]) => key.split(' ')[1] ?? '');
  const shown = [...statuses].map(([name, of]) => `${name} ${of.reduce((sum, [, count]) => sum + count, 0)}`);
  console.log(`seed ${seed}: ${calls} gRPC calls to ${fuzzer.paths.length} methods, ${faults.length} faults`);
  console.log(
    `heap ${(before / MiB).toFixed(1)} MiB before and ${(after / MiB).toFixed(1)} MiB after; ${shown.join(', ')}`,
  );
  for (const fault of faults) console.log(fault);
  const isFlat = after - before < GROWTH_BYTES;
  return faults.length + (isFlat && guarded.isUp ? 0 : 1);
}

/** What others get while each listener is attacked; leases that were lost. */
async function attackListeners(): Promise<number> {
  await using guarded = await AttackedNode.start({ guarded: true });
  console.log('| listener | attack | token | at once | loop ms | RSS more, MiB | calls of others | failed | p99 ms |');
  console.log('|---|---|---|---|---|---|---|---|---|');
  await underAll(guarded, listenerAttacks(guarded));
  const lost = guarded.leasesLost + (await attackLiveness());
  console.log(`${lost} leases lost`);
  return lost;
}

async function underAll(node: AttackedNode, attacks: readonly ListenerAttack[]): Promise<void> {
  for (const attack of attacks) {
    const { name, heldMs, grownMiB, calls, failed: refused, p99Ms } = await underAttack(node, attack, LISTENER_MS);
    const figures = [heldMs.toFixed(0), grownMiB.toFixed(0), calls, refused, p99Ms.toFixed(0)];
    console.log(`| ${name} | ${figures.join(' | ')} |`);
  }
}

/** The same for the port of the failure detector, which only a node of a fleet has; leases that were lost. */
async function attackLiveness(): Promise<number> {
  const missing = serversMissing();
  if (missing !== false && missing !== null) return 0;
  const [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
  try {
    await using node = await AttackedNode.start({ guarded: true, stores: { redis: redis.url, mongodb: mongo.uri } });
    await underAll(node, livenessAttacks(await livenessAddress(redis.url)));
    return node.leasesLost;
  } finally {
    await Promise.all([redis.stop(), mongo.stop()]);
  }
}

/** Where the only member of a fleet is seen to live. */
async function livenessAddress(url: string): Promise<string> {
  const client = new Redis(url);
  try {
    return await waitUntil('the node has said where it is seen to live', async () => {
      for (const key of await client.keys('*')) {
        if ((await client.type(key)) !== 'hash') continue;
        const found = (await client.hvals(key)).map((value) => /"pulse":"([^"]+)"/.exec(value)?.[1]);
        for (const address of found) if (address !== undefined) return address;
      }
      return undefined;
    });
  } finally {
    client.disconnect();
  }
}
