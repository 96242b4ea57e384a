import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import { addressOf, type Partition } from '../../runtime/address.ts';
import { type ActorDefinition, defineActor } from '../../runtime/define-actor.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

/** A ticket is used once and then over. */
const ticket = (keepsArchive?: false) =>
  defineActor({
    kind: 'ticket',
    version: 1,
    state: z.object({ used: z.boolean() }),
    initial: () => ({ used: false }),
    messages: { Make: z.object({}), Use: z.object({}) },
    events: { ticket_made: z.object({}) },
    creates: ['Make'],
    on: {
      Make(state, _, turn) {
        turn.emit('ticket_made', {});
        return { ...state };
      },
      Use: (_state, _message, turn) => {
        turn.reply('used');
        return { used: true };
      },
    },
    done: ({ used }) => used,
    ...(keepsArchive === undefined ? {} : { keepsArchive }),
  });

const HOME: Partition = 'default:0';

async function used(definition: ActorDefinition) {
  const node = await startKernelNode({ definitions: [definition] });
  const { client } = node.runtime;
  const address = addressOf('ticket', 'acme', randomUUID());
  await client.ask(address, 'Make', {});
  await client.ask(address, 'Use', {});
  await waitUntil('the ticket to leave the store', async () => (await node.store.load(HOME, [address]))[0] === null);
  return { node, client, address };
}

test('an ended actor without an archive leaves nothing: no record, no events, no archived documents', async () => {
  const { node, client, address } = await used(ticket(false));
  try {
    assert.equal(await client.read(address), null);
    assert.deepEqual(await client.events(address, 0, 10), []);
    assert.equal(await node.runtime.archive.loadRecord(address), null);
    await assert.rejects(client.ask(address, 'Use', {}), { code: 'not_found' });
  } finally {
    await node.stop();
  }
});

test('an ended actor of any other kind is read and followed from the archive', async () => {
  const { node, client, address } = await used(ticket());
  try {
    assert.equal((await client.read(address))?.archived, true);
    assert.equal((await client.events(address, 0, 10)).length, 1);
  } finally {
    await node.stop();
  }
});
