import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '../../runtime/store-formats.ts';
import { WORKFLOW_EXAMPLES } from '../support/workflow-examples.ts';
import { ExampleNode } from '../support/workflow-examples-node.ts';
import { recordedRun } from './recorded-run.ts';

/** `npm run histories`: runs the examples on a node and keeps their recordings in the folder of this version. */
const folder = join(import.meta.dirname, VERSION);
await mkdir(folder, { recursive: true });
await using node = await ExampleNode.start();
for (const example of WORKFLOW_EXAMPLES) {
  if (example.needs.includes('containers')) continue;
  const ended = await node.client.run(example);
  const { text, recording } = await recordedRun(node.client, String(ended.execution_id));
  await writeFile(join(folder, `${example.name}.ndjson`), text);
  const kinds = new Set(recording.actors.map(({ line }) => line.actor.split('/')[0]));
  console.log(
    `${example.name}: ${recording.actors.length} actors (${[...kinds].join(', ')}), ${text.length} characters`,
  );
}
