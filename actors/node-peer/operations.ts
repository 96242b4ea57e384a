import { z } from 'zod';
import { OPERATORS_CONFIG_BYTES, parseManagedConfig, versionOf } from '../../manifests/node/managed.ts';
import { SvcError } from '../../runtime/errors.ts';
import { FLEET_CONFIG } from '../fleet/address.ts';
import { FleetConfigState, hashOf, NO_CONFIG } from '../fleet/config.ts';
import type { NodePeerApi } from './api.ts';
import { checked } from './checked.ts';
import { Shutdown } from './messages.ts';
import type { PeerCalls } from './peer-calls.ts';

/** A node of an earlier version answers no text: it keeps the one that it was given. */
const Kept = z.object({ config_yaml: z.string().optional() });

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
      const config = snapshot === null ? NO_CONFIG : FleetConfigState.parse(snapshot.state);
      return { ...config, version: versionOf(config.config_yaml) };
    },
    async setConfig(configYaml, by) {
      if (Buffer.byteLength(configYaml) > OPERATORS_CONFIG_BYTES) {
        const text = `config_yaml: expected at most ${OPERATORS_CONFIG_BYTES} bytes`;
        throw new SvcError('invalid_manifest', text, { field: 'config_yaml' });
      }
      const parsed = parseManagedConfig(configYaml);
      if (!parsed.ok) {
        throw new SvcError('invalid_manifest', `config_yaml: ${parsed.problems[0]?.message ?? 'malformed'}`, {
          field: 'config_yaml',
          details: parsed.problems,
        });
      }
      const answer = await client.ask(FLEET_CONFIG, 'SetConfig', { config_yaml: configYaml }, { identity: by });
      const { config_yaml = configYaml } = Kept.parse(answer);
      return { config_yaml, config_hash: hashOf(config_yaml), version: versionOf(config_yaml) };
    },
  };
}
