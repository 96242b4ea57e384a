/** The thread that packs rounds of the ledger: it answers the questions of ledger-thread.ts, in order. */
import { parentPort } from 'node:worker_threads';
import { received } from './carried-commits.ts';
import { LedgerRound, type PackedRound } from './ledger-round.ts';
import type { PackingQuestion } from './ledger-thread.ts';

const port = parentPort;
if (port === null) throw new Error('ledger-worker.ts runs as a thread');
const rounds = new LedgerRound();

async function answerTo({ begin, add }: PackingQuestion): Promise<PackedRound | null> {
  if (begin !== null) rounds.begin(begin.node, begin.round);
  return add === null ? rounds.end() : rounds.addAll(received(add.commits), add.next);
}

let answered: Promise<void> = Promise.resolve();
port.on('message', (question: PackingQuestion) => {
  // A failure ends the thread, and so fails the round.
  answered = answered.then(async () => port.postMessage(await answerTo(question)));
});
