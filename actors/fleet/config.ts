import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MANAGED_CONFIG_BYTES, versionOf, withVersion } from '../../manifests/node/managed.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { FLEET } from './address.ts';

/** `config_hash` (decided.md "Nodes"): SHA-256 of the UTF-8 text, lower-case hex. */
export const hashOf = (configYaml: string): string => createHash('sha256').update(configYaml, 'utf8').digest('hex');

export const FleetConfigState = z.object({ config_yaml: z.string(), config_hash: z.string() });
/** Before anybody set one: nothing is managed. */
export const NO_CONFIG = { config_yaml: '', config_hash: hashOf('') };

/** The configuration that controllers manage for all nodes (spec 1, SyncConfig). Apart from the roster: it is large. */
export const fleetConfig = defineActor({
  kind: 'fleet-config',
  version: 1,
  pool: 'system',
  state: FleetConfigState,
  initial: () => NO_CONFIG,
  messages: { SetConfig: z.object({ config_yaml: z.string().max(MANAGED_CONFIG_BYTES) }) },
  /** `by`: subject of the operator. */
  events: { config_set: z.object({ config_hash: z.string(), by: z.string() }) },
  on: {
    SetConfig(state, message, turn) {
      // It grows, so that nodes can tell an older text. Beyond the time as well: a count that was lost with its store must not
      // begin below what nodes have in force.
      const version = Math.max(versionOf(state.config_yaml) + 1, turn.now);
      const config_yaml = withVersion(message.config_yaml, version);
      const config_hash = hashOf(config_yaml);
      turn.emit('config_set', { config_hash, by: turn.identity?.subject ?? '' });
      turn.tell(FLEET, 'ConfigChanged', { config_hash });
      turn.reply({ config_hash, config_yaml });
      return { config_yaml, config_hash };
    },
  },
});
