/**
 * Attacks a node of its own with the largest requests that it takes, and with a little more: how long each holds the event
 * loop, CPU ms on the thread of requests, best of three.
 *
 *   npm run attack                  all routes, all listeners, all attempts to leave the sandbox
 *   npm run attack -- listeners     the listeners alone: bodies at and over their bounds, half, slow, many
 *   npm run attack -- WORDS         those whose title holds one of the words
 *
 * Without words all attempts to leave the sandbox of commands are made too. Ends with 1 when one holds the loop longer than
 * 250 ms, a lease was lost, or an attempt gained something.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { AttackedNode } from './attacked-node.ts';
import { underAttack } from './bystander.ts';
import { restAttacks, strangerAttacks } from './cases.ts';
import { listenerAttacks } from './listeners.ts';
import { measured } from './measure.ts';

const BAR_MS = 50;
const MOST_MS = 250;
const SHOWN = 40;

const LISTENER_MS = 3_000;

const words = process.argv.slice(2);
const lost = words.length === 0 || words.includes('listeners') ? await attackListeners() : 0;
await using node = await AttackedNode.start();
const all = [...(await restAttacks(node, { sample: false })), ...strangerAttacks(node)];
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
process.exitCode = failed > 0 || node.leasesLost > 0 || lost > 0 || escaped ? 1 : 0;

/** Every attempt to leave the sandbox; a machine without one says so and gains nothing. */
function escapesHold(): boolean {
  const file = join(import.meta.dirname, '..', 'effects', 'programs', 'sandbox-escapes.test.ts');
  const env = { ...process.env, SVC_ATTACK: 'whole' };
  return spawnSync(process.execPath, ['--test', '--test-force-exit', file], { env, stdio: 'inherit' }).status === 0;
}

/** What others get while each listener is attacked; leases that were lost. */
async function attackListeners(): Promise<number> {
  await using guarded = await AttackedNode.start({ guarded: true });
  console.log('| listener | attack | token | at once | loop ms | RSS more, MiB | calls of others | failed | p99 ms |');
  console.log('|---|---|---|---|---|---|---|---|---|');
  for (const attack of listenerAttacks(guarded)) {
    const { name, heldMs, grownMiB, calls, failed: refused, p99Ms } = await underAttack(guarded, attack, LISTENER_MS);
    const figures = [heldMs.toFixed(0), grownMiB.toFixed(0), calls, refused, p99Ms.toFixed(0)];
    console.log(`| ${name} | ${figures.join(' | ')} |`);
  }
  console.log(`${guarded.leasesLost} leases lost`);
  return guarded.leasesLost;
}
