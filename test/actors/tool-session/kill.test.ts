import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { AuditRecord, recordHash } from '../../../manifests/audit/record.ts';
import { addressOf } from '../../../runtime/address.ts';
import { type StoreKind, startStores, storesMissing } from '../../kill/stores.ts';
import { KillNodeHandle } from '../../support/kill-node-handle.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { opening } from './driven-session.ts';

const PROGRAM = join(import.meta.dirname, 'session-node.ts');
const kinds: readonly StoreKind[] = ['sqlite', 'redis'];
const Answer = z.looseObject({
  outcome: z.looseObject({ is_error: z.boolean(), error: z.looseObject({ code: z.string() }).optional() }),
});

for (const kind of kinds) {
  const skip = storesMissing(kind);
  test(`a node killed while tools run: a repeatable call is run again, a once call never, each is answered once (${kind})`, {
    skip,
    timeout: 300_000,
  }, async () => {
    const stores = await startStores(kind);
    const file = join(stores.location.dataDir, 'runs.txt');
    await writeFile(file, '');
    const start = (does: string) => KillNodeHandle.start(stores.location, { path: PROGRAM, args: [file, does] });
    const runs = async () => (await readFile(file, 'utf8')).trim().split('\n').sort();
    let node = await start('hang');
    try {
      const session = addressOf('tool-session', 'acme', randomUUID());
      await node.ask(session, 'Open', opening());
      const call = (tool: string, id: string) => node.ask(session, 'Call', { tool, id });
      const cut = Promise.allSettled([call('fs.read', 'n:1'), call('cmd.run', 'n:2')]);
      await waitUntil('both tools run', async () => (await runs()).length === 2);
      await node.end('SIGKILL');
      assert.ok((await cut).every(({ status }) => status === 'rejected'));
      node = await start('answer');
      const read = Answer.parse(await call('fs.read', 'n:1'));
      const command = Answer.parse(await call('cmd.run', 'n:2'));
      assert.equal(read.outcome.is_error, false);
      assert.equal(command.outcome.error?.code, 'in_doubt');
      assert.deepEqual(await runs(), ['cmd.run', 'fs.read', 'fs.read']);
      const records = z.array(AuditRecord).parse(await node.ask(session, 'Call', 'audit'));
      for (const [index, record] of records.entries()) {
        assert.equal(record.previous_hash, records[index - 1]?.hash ?? null);
        assert.equal(record.hash, recordHash(record));
      }
      const ended = records.flatMap(({ body }) => (body.kind === 'ended' ? [`${body.call} ${body.outcome}`] : []));
      assert.deepEqual(ended.sort(), ['n:1 succeeded', 'n:2 in_doubt']);
    } finally {
      await node.end('SIGKILL');
      await stores.destroy();
    }
  });
}
