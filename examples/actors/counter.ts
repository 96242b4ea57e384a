import { z } from 'zod';
import { defineActor, message, startRuntime } from '../../runtime/index.ts';

const counter = defineActor({
  kind: 'counter',
  version: 1,
  state: z.object({ value: z.number() }),
  initial: () => ({ value: 0 }),
  messages: { Add: message(z.object({ by: z.number() }), z.number()) },
  events: {},
  on: {
    Add({ value }, { by }, turn) {
      turn.reply(value + by);
      return { value: value + by };
    },
  },
});

const { client, stop } = await startRuntime({ dataDir: process.argv[2] ?? 'data/counter', actors: [counter] });
console.log(await client.actor(counter, 'acme', 'visits').Add({ by: 2 }));
await stop();
