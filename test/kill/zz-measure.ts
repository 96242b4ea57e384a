import { randomUUID } from 'node:crypto';
import { deploy, start } from './calls.ts';
import { followExecution } from './follower.ts';
import { percentile } from './recovery.ts';
import { openWorld } from './world.ts';

const kind = process.argv[2] === 'redis' ? 'redis' : 'sqlite';
const world = await openWorld(kind);
const { signal } = new AbortController();
const t0 = Date.now();
world.node.spawn();
await world.node.url;
console.log(kind, 'spawn to listen', Date.now() - t0);
const ids = new Map<string, string>();
for (const agent of world.agents) ids.set(agent.name, await deploy(world.node, agent, signal));
const took = new Map<string, number[]>();
const until = Date.now() + 6000;
await Promise.all(
  Array.from({ length: 12 }, async (_, lane) => {
    for (let n = lane; Date.now() < until; n += 1) {
      const agent = world.agents[n % world.agents.length];
      if (!agent) continue;
      const at = Date.now();
      const id = await start(world.node, ids.get(agent.name) ?? '', randomUUID(), signal);
      const started = Date.now() - at;
      await followExecution(id, { url: () => world.node.url, onEvent: () => {}, signal });
      took.set(agent.name, [...(took.get(agent.name) ?? []), Date.now() - at]);
      took.set('start call', [...(took.get('start call') ?? []), started]);
    }
  }),
);
for (const [name, times] of took)
  console.log(name, times.length, 'p50', percentile(times, 0.5), 'max', percentile(times, 1));
const st = Date.now();
for (let i = 0; i < 3; i += 1) {
  await world.node.kill();
  const k = Date.now();
  world.node.spawn();
  await world.node.url;
  console.log('respawn to listen', Date.now() - k);
}
await world.node.stop();
console.log('stop', Date.now() - st);
console.log(world.node.log.slice(-1000));
await world.destroy();
