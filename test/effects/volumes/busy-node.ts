import { ACME, volumesUnderTest } from './volumes-under-test.ts';

/**
 * A node in a separate process, to be killed while it creates, fills and removes volumes in the directory `argv[2]`.
 */
const [, , directory] = process.argv;
if (directory === undefined) throw new Error('usage: busy-node.ts DIRECTORY');
const { volumes } = await volumesUnderTest({ directory });
for (let round = 0; ; round += 1) {
  const { id } = await volumes.create(ACME, { name: `v-${process.pid}-${round}`, storage_class: 'persistent' });
  await volumes.files.write('acme', id, 'kept', Buffer.from(`content of ${id}`));
  if (round % 2 === 0) await volumes.delete(ACME, id);
  else process.send?.({ kept: id });
}
