/** `npx node examples/actors/remind.ts`: the reminder of docs/quickstart/first-actor.md, set and followed to its end. */
import { addressOf, startRuntime } from '../../runtime/index.ts';
import { reminder } from './reminder.ts';

const { client, stop } = await startRuntime({ dataDir: process.argv[2] ?? 'data/reminders', actors: [reminder] });
// The runtime's timers do not keep the process alive.
const alive = setInterval(() => {}, 60_000);
const id = crypto.randomUUID();
try {
  await client.actor(reminder, 'acme', id).Remind({ text: 'stand up', after_ms: 200 });
  const signal = AbortSignal.timeout(10_000);
  for await (const event of client.follow(addressOf('reminder', 'acme', id), 0, { signal, heartbeatMs: 1_000 })) {
    if (event !== null) console.log(event.seq, event.name);
  }
} finally {
  clearInterval(alive);
  await stop();
}
