/**
 * Attacks a node of its own with the largest requests that it takes, and with a little more: how long each holds the event
 * loop, CPU ms on the thread of requests, best of three.
 *
 *   npm run attack                  all routes
 *   npm run attack -- WORDS         those whose title holds one of the words
 *
 * Ends with 1 when one holds it longer than 250 ms, or a lease was lost.
 */
import { AttackedNode } from './attacked-node.ts';
import { restAttacks, strangerAttacks } from './cases.ts';
import { measured } from './measure.ts';

const BAR_MS = 50;
const MOST_MS = 250;
const SHOWN = 40;

const words = process.argv.slice(2);
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
process.exitCode = failed > 0 || node.leasesLost > 0 ? 1 : 0;
