import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import { Ask } from '../../../actors/approval/messages.ts';
import { Convene } from '../../../actors/judge-panel/messages.ts';
import { CommandInput } from '../../../effects/commands/input.ts';
import { ContainerInput } from '../../../effects/containers/input.ts';
import { AgentStartInput, WorkflowStartInput } from '../../../effects/starts/child-start.ts';
import { PrepareInput } from '../../../effects/volumes/prepare-effect.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { DrivenWorkflow, single } from './driven-workflow.ts';
import { AGENT, begun, CHILD, CONTAINER, CONTAINERS, HUMAN, PANEL, SYSTEM } from './one-state.ts';

const volumes = [{ name: 'workspace', mount_path: '/workspace' }];
const mounts = [{ volume: 'workspace', mount_path: '/w', access_mode: 'read-write' }];

/** Complete requests, against the schema of their receiver. */
const EFFECTS: readonly (readonly [string, JsonObject, z.ZodType])[] = [
  ['agent.start', { ...AGENT, volumes: mounts }, AgentStartInput],
  ['command.run', { ...SYSTEM, timeout: '30d' }, CommandInput],
  ['container.run', { ...CONTAINER, volumes, resources: { cpu: 100, memory: '64Mi', timeout: '30d' } }, ContainerInput],
  ['container.run', CONTAINERS, ContainerInput],
  ['workflow.start', CHILD, WorkflowStartInput],
];

for (const [kind, state, schema] of EFFECTS) {
  test(`a state ${String(state.kind)} requests ${kind} with an input that its effect accepts`, () => {
    const run = begun(state);
    assert.equal(run.effect.request.kind, kind);
    for (const { request } of run.effects.values()) fits(schema, request.input);
  });
}

test('volumes are requested with an input that their effect accepts', () => {
  const storages: readonly JsonObject[] = [
    { workspace: { ttl_hours: 2, size_limit_mb: 10 } },
    {
      shared_volumes: [
        { name: 'data', storage_class: 'persistent', volume_id: '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a77' },
      ],
    },
  ];
  for (const storage of storages) {
    const run = new DrivenWorkflow();
    run.start(single(SYSTEM, { spec: { storage } }));
    fits(PrepareInput, run.effect.request.input);
  }
});

const ACTORS: readonly (readonly [JsonObject, z.ZodType])[] = [
  [HUMAN, Ask],
  [PANEL, Convene],
  [{ ...PANEL, agents: [{ agent: 'watcher', weight: 0, timeout_seconds: 86_400 }] }, Convene],
];

for (const [state, schema] of ACTORS) {
  test(`a state ${String(state.kind)} sends its actor a message that it accepts`, () => {
    fits(schema, begun(state).told[0]?.payload ?? null);
  });
}

/** A field that the receiver does not know would be dropped silently. */
function fits(schema: z.ZodType, asked: Json): void {
  const taken = schema.parse(asked);
  assert.deepEqual(unknownKeys(asked, taken), []);
}

function unknownKeys(asked: unknown, taken: unknown, path = ''): string[] {
  if (typeof asked !== 'object' || asked === null || typeof taken !== 'object' || taken === null) return [];
  const known = new Map<string, unknown>(Object.entries(taken));
  return Object.entries(asked).flatMap(([key, value]) =>
    known.has(key) ? unknownKeys(value, known.get(key), `${path}.${key}`) : [`${path}.${key}`],
  );
}
