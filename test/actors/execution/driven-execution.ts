import { execution } from '../../../actors/execution/definition.ts';
import { ExecutionState } from '../../../actors/execution/state.ts';
import { type AgentManifest, AgentManifestSchema } from '../../../manifests/agent/schema.ts';
import type { ActorDefinition } from '../../../runtime/define-actor.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { ActorDriver, type DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { toJson } from '../../support/to-json.ts';

export const EXECUTION_ID = '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a01';
export const AGENT_ID = '9b1d6c1e-52a4-4a5e-8a55-6f1f0c2b7e02';

/** A manifest with the given parts of `spec` over those of a small agent that uses the model. */
export function manifestOf(spec: JsonObject = {}, annotations: Record<string, string> = {}): AgentManifest {
  return AgentManifestSchema.parse({
    apiVersion: 'svc.dev/v1',
    kind: 'Agent',
    metadata: { name: 'summarizer', version: '1.0.0', annotations },
    spec: { task: { instruction: 'Summarize.' }, ...spec },
  });
}

/** A manifest that an older version accepted: its template exceeds the present schema. */
export function templateOf(prompt_template: string): AgentManifest {
  const manifest = manifestOf();
  return { ...manifest, spec: { ...manifest.spec, task: { ...manifest.spec.task, prompt_template } } };
}

/** The same agent as a program on the host. */
export function programOf(execution: JsonObject = {}, annotations: Record<string, string> = {}): AgentManifest {
  return manifestOf(
    { execution, advanced: { bootstrap_path: './agent.sh' }, runtime: { isolation: 'process' } },
    annotations,
  );
}

/** An execution driven through pure turns, with helpers for its tests. */
export class DrivenExecution extends ActorDriver {
  constructor(definition: ActorDefinition = execution) {
    super(definition, 'acme', EXECUTION_ID);
  }

  start(manifest: AgentManifest, extra: JsonObject = {}): DrivenTurn {
    const base = { execution_id: EXECUTION_ID, agent_id: AGENT_ID, manifest: toJson(manifest), input: 'the text' };
    return this.send('Start', { ...base, ...extra });
  }

  /** Id of the awaited effect; the last one when none is awaited. */
  get effectId(): string {
    const id = [...this.effects.keys()].at(-1);
    if (id === undefined) throw new Error('no effect was asked for');
    return id;
  }

  get prompt(): string {
    const input = this.effects.get(this.effectId)?.request.input;
    const message = Array.isArray(input?.messages) ? input.messages[0] : undefined;
    const content =
      message !== null && typeof message === 'object' && 'content' in message ? message.content : undefined;
    const argument = Array.isArray(input?.args) ? input.args[0] : undefined;
    return String(content ?? argument ?? '');
  }

  answer(text: string, extra: JsonObject = {}): DrivenTurn {
    const usage = { input_tokens: 10, output_tokens: 5, cost: 0.5 };
    const value = { text, tool_calls: [], finish_reason: 'stop', provider: 'p', model: 'm', usage, ...extra };
    return this.result('ModelAnswered', { kind: 'done', value });
  }

  exit(code: number | null, stdout: string, extra: JsonObject = {}): DrivenTurn {
    const flags = { stdout_truncated: false, stderr_truncated: false, timed_out: false };
    const value = { exit_code: code, stdout, stderr: '', duration_ms: 3, ...flags, ...extra };
    return this.result('ProgramEnded', { kind: 'done', value });
  }

  result(type: 'ModelAnswered' | 'ProgramEnded', outcome: Json, effectId = this.effectId): DrivenTurn {
    const kind = type === 'ModelAnswered' ? 'model.generate' : 'program.run';
    return this.send(type, { effectId, kind, attempt: 1, outcome }, 'effect');
  }

  chunk(text: string, attempt = 1, effectId = this.effectId): DrivenTurn {
    return this.send('ModelChunk', { effectId, attempt, value: { text } }, 'effect');
  }

  get names(): string[] {
    return this.events.map((event) => event.name);
  }

  get view() {
    return ExecutionState.parse(this.state);
  }

  payloads(name: string): JsonObject[] {
    return this.events.filter((event) => event.name === name).map((event) => toJson(event.payload));
  }

  get streamed(): string[] {
    return this.payloads('iteration_output').map((payload) => String(payload.output));
  }
}
