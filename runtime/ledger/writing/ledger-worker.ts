/** The thread that packs rounds of the ledger: it answers the questions of ledger-thread.ts, in order. */
import { parentPort } from 'node:worker_threads';
import { LedgerRound, THREAD_GROUP_BYTES } from './ledger-round.ts';
import type { PackingQuestion } from './ledger-thread.ts';

const port = parentPort;
if (port === null) throw new Error('ledger-worker.ts runs as a thread');
const rounds = new LedgerRound(THREAD_GROUP_BYTES);

// A failure ends the thread, and so fails the round.
port.on('message', ({ begin, add }: PackingQuestion) => {
  if (begin !== null) rounds.begin(begin.node, begin.round);
  port.postMessage(add === null ? rounds.endNow() : rounds.addNow(add.deliveries, add.next));
});
