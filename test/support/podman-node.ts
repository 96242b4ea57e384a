import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { containersOf, runEffect, sh } from './podman-containers.ts';

/** A node in a process of its own, to be killed while its container runs: SOCKET DOCUMENTS EFFECT_ID SCRIPT VOLUME. */
const [, , socketPath, directory, effectId, script, volume] = process.argv;
if (socketPath === undefined || directory === undefined || effectId === undefined || volume === undefined) {
  throw new Error('usage: podman-node.ts SOCKET DOCUMENTS EFFECT_ID SCRIPT VOLUME');
}
const documents = new SqliteDocuments({ directory });
await documents.open();
const parts = await containersOf(socketPath, documents, volume);
const mounts = [{ volume_id: 'v', mount_path: '/data' }];
await runEffect(parts, { ...sh(script ?? ''), mounts }, { effectId });
