/**
 * A node with the kernel tests' actors in a process of its own, to be killed: takes `KillNodeCall`s over the channel of
 * `fork`, answers each with its id. SIGTERM ends it in order. Arguments: the `StoreLocation` as JSON.
 */

import { startRuntime } from '../../runtime/runtime.ts';
import { counter, job, workEffect } from './actors.ts';
import { answerCalls, type KillNodeCall, storesOfProgram, warn } from './kill-node-calls.ts';

const ports = await storesOfProgram();
const runtime = await startRuntime({
  ...ports,
  definitions: [counter, job],
  handlers: [workEffect({ begun: [], aborted: [] })],
  node: 'node-a',
  settings: {
    partitions: 4,
    systemPartitions: 1,
    retry: { maxAttempts: 5, initialDelayMs: 100, maxDelayMs: 400 },
  },
  warn,
});

async function answer(call: KillNodeCall): Promise<unknown> {
  if (call.verb === 'read') return runtime.client.read(call.to);
  if (call.verb === 'ask') return runtime.client.ask(call.to, call.type, call.payload);
  await runtime.client.tell(call.to, call.type, call.payload);
  return null;
}

process.on('SIGTERM', () => {
  runtime
    .stop()
    .then(() => ports.close())
    .then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
});
answerCalls(answer);
