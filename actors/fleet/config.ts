import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MANAGED_CONFIG_BYTES } from '../../manifests/node/managed.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { FLEET } from './address.ts';

/** `config_hash` (decided.md "Nodes"): SHA-256 of the UTF-8 text, lower-case hex. */
export const hashOf = (configYaml: string): string => createHash('sha256').update(configYaml, 'utf8').digest('hex');

export const FleetConfigState = z.object({
  config_yaml: z.string(),
  config_hash: z.string(),
  /** Grows with each text that is set, so that nodes can tell an older one. 0: set by a version that knew none. */
  version: z.number().int().min(0).default(0),
});
/** Before anybody set one: nothing is managed. */
export const NO_CONFIG = { config_yaml: '', config_hash: hashOf(''), version: 0 };

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
    SetConfig(state, { config_yaml }, turn) {
      const config_hash = hashOf(config_yaml);
      turn.emit('config_set', { config_hash, by: turn.identity?.subject ?? '' });
      turn.tell(FLEET, 'ConfigChanged', { config_hash });
      // Beyond the time as well: a count that was lost with its store must not begin below what nodes have in force.
      const version = Math.max(state.version + 1, turn.now);
      turn.reply({ config_hash, version });
      return { config_yaml, config_hash, version };
    },
  },
});
