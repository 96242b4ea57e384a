import { z } from 'zod';
import { workflowActor } from '../../actors/workflow/definition.ts';
import { parseWorkflowManifest } from '../../manifests/workflow/parse.ts';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { ActorDefinition, EffectRequest, Schemas, Turn } from '../../runtime/define-actor.ts';
import { defineEffect } from '../../runtime/effect.ts';

/**
 * `pure`: built-in commands, which end in the actor's turn; `effects`: each step is an effect of mode `once`;
 * `repeatable`: the same as effects that may be repeated and run ahead of their commit, as model calls and tools that
 * read do.
 */
export type Steps = 'pure' | 'effects' | 'repeatable';

export const STEPS = 5;

/** The workflow that is measured: five System states, one behind the other. */
export function fiveSteps(steps: Steps): WorkflowManifest {
  const names = Array.from({ length: STEPS }, (_, index) => `STEP_${index + 1}`);
  const states = names.map((name, index) => {
    const next = names[index + 1];
    const to = next === undefined ? '[]' : `[{ condition: on_success, target: ${next} }]`;
    const work = steps === 'pure' ? `command: update_blackboard, env: { step_${index + 1}: done }` : 'command: no-op';
    return `    ${name}: { kind: System, ${work}, transitions: ${to} }`;
  });
  const text = [
    'apiVersion: svc.dev/v1',
    'kind: Workflow',
    `metadata: { name: five-${steps}, version: 1.0.0 }`,
    'spec:',
    `  initial_state: ${names[0]}`,
    '  states:',
    ...states,
  ].join('\n');
  const parsed = parseWorkflowManifest(text);
  if (!parsed.ok) throw new Error(`the benchmark’s manifest is wrong: ${JSON.stringify(parsed.problems)}`);
  return parsed.manifest;
}

/** Replaces the shell and answers at once, so that only the engine is measured. */
export const noOpCommand = defineEffect({
  kind: 'command.run',
  input: z.looseObject({ command: z.literal('no-op') }),
  run: async () => ({ exit_code: 0, stdout: '', stderr: '', duration_ms: 0 }),
});

/** The workflow actor. No manifest makes a command repeatable, so for `repeatable` its requests are changed here. */
export function benchedActor(steps: Steps): ActorDefinition {
  const actor: ActorDefinition = workflowActor();
  if (steps !== 'repeatable') return actor;
  const on = Object.entries(actor.on).map(([type, handle]): [string, typeof handle] => [
    type,
    (state, payload, turn) => handle(state, payload, Object.assign(turn, { effect: repeatable(turn) })),
  ]);
  return { ...actor, on: Object.fromEntries(on) };
}

function repeatable(turn: Turn<Schemas, Schemas>): (request: EffectRequest) => string {
  const ask: (request: EffectRequest) => string = turn.effect.bind(turn);
  return (request) => ask({ ...request, mode: 'repeatable', ahead: true, retry: undefined });
}
