import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { containersOf } from '../../support/podman-containers.ts';
import { agentParts, exec, loop, runAgent } from './agent-under-test.ts';

/**
 * A node in a separate process, to be killed: SOCKET DOCUMENTS BOXES EFFECT_ID VOLUME. Its inner loop dispatches one
 * command, reports it, and never answers the result.
 */
const [, , socketPath, documentsAt, boxes, effectId, volume] = process.argv;
if (socketPath === undefined || documentsAt === undefined || boxes === undefined || effectId === undefined)
  throw new Error('usage: agent-node.ts SOCKET DOCUMENTS BOXES EFFECT_ID VOLUME');
const documents = new SqliteDocuments({ directory: documentsAt });
await documents.open();
const { gateway } = loop([
  exec('echo ran >> /workspace/runs; echo out', { dispatch_id: 'd-1' }),
  () => {
    process.send?.('asked');
    return new Promise(() => {});
  },
]);
const containers = await containersOf(socketPath, documents, volume ?? '');
await runAgent(agentParts(containers, boxes, gateway), {}, { effectId });
