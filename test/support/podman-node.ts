import { ContainerEngine } from '../../effects/containers/engine.ts';
import { createContainerStarts } from '../../effects/containers/state.ts';
import { systemClock } from '../../runtime/clock.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { LIMITS, REALM, runEffect, sh } from './podman-bench.ts';

/** A node in a process of its own, to be killed while its container runs: SOCKET DOCUMENTS EFFECT_ID SCRIPT VOLUME. */
const [, , socketPath, directory, effectId, script, volume] = process.argv;
if (socketPath === undefined || directory === undefined || effectId === undefined || volume === undefined) {
  throw new Error('usage: podman-node.ts SOCKET DOCUMENTS EFFECT_ID SCRIPT VOLUME');
}
const documents = new SqliteDocuments({ directory });
await documents.open();
const parts = {
  engine: new ContainerEngine({ location: { socketPath }, clock: systemClock }),
  limits: LIMITS,
  volumes: {
    open: async () => ({
      directory: volume,
      sizeLimitBytes: null,
      known: { size_limit_bytes: null, workflow_execution_id: null },
    }),
    checkQuota: async () => {},
    hold: () => () => {},
  },
  secrets: { resolve: async () => '' },
  starts: await createContainerStarts(documents),
  isWanted: async () => true,
  node: 'node-b',
  realm: REALM,
  clock: systemClock,
  warn: () => {},
};
const mounts = [{ volume_id: 'v', mount_path: '/data' }];
await runEffect(parts, { ...sh(script ?? ''), mounts }, { effectId });
