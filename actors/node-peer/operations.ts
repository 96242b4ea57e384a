import { z } from 'zod';
import { parseManagedConfig } from '../../manifests/node/managed.ts';
import { SvcError } from '../../runtime/errors.ts';
import { FLEET_CONFIG } from '../fleet/address.ts';
import { FleetConfigState, hashOf, NO_CONFIG } from '../fleet/config.ts';
import type { NodePeerApi } from './api.ts';
import { checked } from './checked.ts';
import { Shutdown } from './messages.ts';
import type { PeerCalls } from './peer-calls.ts';

/** A node of an earlier version answers none. */
const Versioned = z.object({ version: z.number().int().default(0) });

type Operations = Pick<NodePeerApi, 'drain' | 'shutdown' | 'remove' | 'config' | 'setConfig'>;

/** What operators do to nodes and their configuration. */
export function operations({ client, ask }: PeerCalls): Operations {
  return {
    async drain(nodeId, by) {
      await ask(nodeId, 'Drain', {}, { identity: by });
    },
    async shutdown(nodeId, reason, by) {
      await ask(nodeId, 'Shutdown', checked(Shutdown, { reason }), { identity: by });
    },
    async remove(nodeId, by) {
      await ask(nodeId, 'Remove', {}, { identity: by });
    },
    async config() {
      const snapshot = await client.read(FLEET_CONFIG);
      return snapshot === null ? NO_CONFIG : FleetConfigState.parse(snapshot.state);
    },
    async setConfig(configYaml, by) {
      const parsed = parseManagedConfig(configYaml);
      if (!parsed.ok) {
        throw new SvcError('invalid_manifest', `config_yaml: ${parsed.problems[0]?.message ?? 'malformed'}`, {
          field: 'config_yaml',
          details: parsed.problems,
        });
      }
      const answer = await client.ask(FLEET_CONFIG, 'SetConfig', { config_yaml: configYaml }, { identity: by });
      return { config_yaml: configYaml, config_hash: hashOf(configYaml), version: Versioned.parse(answer).version };
    },
  };
}
