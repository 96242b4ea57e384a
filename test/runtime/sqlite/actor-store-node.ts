/**
 * A process with an actor store, driven by tests: opens the directory given, then appends one message after the other
 * and prints a line for each outcome. Ends when it is killed or after the number of messages given.
 */

import { SvcError } from '../../../runtime/errors.ts';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';

const [directory, count, size] = process.argv.slice(2);
if (directory === undefined) throw new Error('usage: actor-store-node.ts DIRECTORY [COUNT] [BODY_BYTES]');
const store = new SqliteActorStore({ directory });

const say = (line: string) => process.stdout.write(`${line}\n`);

async function appendOne(n: number): Promise<string> {
  const body = `${n} ${'x'.repeat(Number(size ?? 10))}`;
  try {
    await store.append('default:0', [{ id: `id-${n}`, to: 'thing/t/one', body }], 1_000_000);
    return `stored id-${n}`;
  } catch (error) {
    return `refused id-${n} ${error instanceof SvcError ? error.code : String(error)}`;
  }
}

try {
  await store.open();
  say('open');
  for (let n = 0; n < Number(count ?? 0); n += 8) {
    const group = Array.from({ length: 8 }, (_, k) => appendOne(n + k));
    for (const line of await Promise.all(group)) say(line);
  }
  say('done');
  setInterval(() => {}, 1_000);
} catch (error) {
  say(`failed ${error instanceof SvcError ? `${error.code} ${error.message}` : String(error)}`);
}
