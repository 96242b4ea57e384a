import assert from 'node:assert/strict';
import { executionActor } from '../../../actors/execution/definition.ts';
import type { LoopCall } from '../../../actors/execution/inner-loop/state.ts';
import { Convene, PanelConcluded } from '../../../actors/judge-panel/messages.ts';
import type { ToolOutcome } from '../../../manifests/tool/call.ts';
import type { ToolPolicy } from '../../../manifests/tool/decision.ts';
import type { ToolGrant, ToolOffer } from '../../../manifests/tool/scope.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { DrivenTurn, OpenEffect } from '../../../runtime/testing/actor-driver.ts';
import { DrivenExecution, manifestOf } from './driven-execution.ts';
import { ada } from './judged.ts';

const offer = (name: string, more: Partial<ToolOffer> = {}): ToolOffer => ({
  ...{ name, description: `does ${name}`, input_schema: { type: 'object' }, schema_hash: 'a'.repeat(64) },
  ...{ source: 'builtin', skip_judge: false, mode: 'once', reads: false, runs: 'node', ...more },
});

/** fs.read reads, fs.write writes, cmd.run runs in the agent's environment. */
export const GRANT: ToolGrant = {
  ...{ security_context: 'svc-system-agent-runtime', deny_list: [], capabilities: [] },
  ...{ manifest: [], network: null, filesystem: null },
  tools: [
    offer('fs.read', { skip_judge: true, mode: 'repeatable', reads: true }),
    offer('fs.write'),
    offer('cmd.run', { runs: 'agent' }),
  ],
};

/** Allows all offered tools; `bad` among the arguments is refused by name. */
export const policy: ToolPolicy = {
  decide(grant, call) {
    const found = grant.tools.find(({ name }) => name === call.name);
    if (found === undefined) {
      return { allowed: false, reason: 'ToolNotAllowed', message: `tool ${call.name} is not offered` };
    }
    const args = call.arguments as JsonObject;
    if ('bad' in args) {
      return { allowed: false, reason: 'InvalidArguments', message: `${call.name}: bad: not known`, offer: found };
    }
    const command = { timeout_secs: 30, max_output_bytes: 1_000, env_denylist: [], max_concurrent: 1 };
    const narrow = 'one' in args ? { max_concurrent: 1 } : {};
    const limits = { ...narrow, ...(found.name === 'cmd.run' ? { command } : {}) };
    return { allowed: true, offer: found, arguments: args, limits };
  },
};

export const tooled = (spec: JsonObject = {}) => manifestOf({ tools: ['fs.*', 'cmd.run'], ...spec });

export interface Ask {
  readonly name: string;
  readonly id?: string;
  readonly args?: JsonObject;
}

export const read = (path = 'a.txt'): Ask => ({ name: 'fs.read', args: { path } });
export const write = (path = 'b.txt'): Ask => ({ name: 'fs.write', args: { path } });
export const run = (command = 'ls'): Ask => ({ name: 'cmd.run', args: { command, args: ['-l'] } });

export const outcomeOf = (text: string, more: Partial<ToolOutcome> = {}): ToolOutcome => ({
  ...{ content: [{ type: 'text', text }], is_error: false, duration_ms: 1 },
  ...more,
});

/** An execution with tools, driven through pure turns. */
export class ToolingExecution extends DrivenExecution {
  constructor() {
    super(executionActor({ policy }));
    this.identity = ada;
  }

  /** Started and granted: it waits for its model. */
  static begun(spec: JsonObject = {}): ToolingExecution {
    const driven = new ToolingExecution();
    driven.start(tooled(spec));
    driven.granted();
    return driven;
  }

  asked(kind: string): OpenEffect[] {
    return this.turns.flatMap(({ effects }) => effects).filter(({ request }) => request.kind === kind);
  }

  last(kind: string): OpenEffect {
    const found = this.asked(kind).at(-1);
    assert.ok(found !== undefined, `no ${kind} was asked for`);
    return found;
  }

  settle(type: string, { id, request }: OpenEffect, outcome: Json): DrivenTurn {
    const result = { effectId: id, kind: request.kind, attempt: 1, outcome };
    return this.send(type, { ...result, context: request.context ?? null }, 'effect');
  }

  granted(grant: Json = JSON.parse(JSON.stringify(GRANT))): DrivenTurn {
    return this.settle('ToolsGranted', this.last('tools.grant'), { kind: 'done', value: grant });
  }

  notGranted(code: string): DrivenTurn {
    return this.settle('ToolsGranted', this.last('tools.grant'), { kind: 'failed', code, message: 'no grant' });
  }

  /** The model's answer in the running round. */
  says(text: string, calls: readonly Ask[] = [], effect = this.last('model.generate')): DrivenTurn {
    const tool_calls = calls.map(({ name, id, args = {} }, at) => ({ id: id ?? `c${at + 1}`, name, arguments: args }));
    return this.saysRaw(text, tool_calls, effect);
  }

  saysRaw(text: string, tool_calls: Json, effect = this.last('model.generate')): DrivenTurn {
    const usage = { input_tokens: 10, output_tokens: 5, cost: 0.5 };
    return this.settle('ModelAnswered', effect, {
      kind: 'done',
      value: { text, tool_calls, finish_reason: 'x', usage },
    });
  }

  /** Calls that run now, in the order of the model. */
  get runningCalls(): OpenEffect[] {
    const ids = this.calls.filter(({ status }) => status === 'running').map(({ effect_id }) => effect_id);
    return this.asked('tool.call').filter(({ id }) => ids.includes(id));
  }

  get calls(): LoopCall[] {
    const { view } = this;
    return view.status === 'running' ? (view.current.loop?.calls ?? []) : [];
  }

  ends(outcome: ToolOutcome = outcomeOf('done'), effect = this.runningCalls[0]): DrivenTurn {
    return this.endsRaw({ kind: 'done', value: JSON.parse(JSON.stringify(outcome)) }, effect);
  }

  endsRaw(outcome: Json, effect = this.runningCalls[0]): DrivenTurn {
    assert.ok(effect !== undefined, 'no call runs');
    return this.settle('ToolEnded', effect, outcome);
  }

  sent(type: string): { readonly to: string; readonly payload: JsonObject }[] {
    const sends = this.turns.flatMap((turn) => turn.sends).filter((message) => message.type === type);
    return sends.map(({ to, payload }) => ({ to, payload: JSON.parse(JSON.stringify(payload)) }));
  }

  get panels(): Convene[] {
    return this.sent('Convene').map(({ payload }) => Convene.parse(payload));
  }

  judge(score: number | null, panel = this.panels.at(-1)): DrivenTurn {
    assert.ok(panel !== undefined, 'no panel was convened');
    const { panel_id, notify } = panel;
    const consensus = { score, confidence: 1, strategy: 'weighted_average', metadata: {} };
    const judged = { agent_id: 'critic', score, confidence: 1, reasoning: 'It would delete too much.' };
    const word = PanelConcluded.parse({
      ...{ panel_id, binary_valid: false, agents: [], context: notify?.context ?? null },
      ...(score === null
        ? { status: 'failed', error: 'no judge answered', consensus: null, individual_results: [] }
        : { status: 'concluded', error: null, consensus, individual_results: [judged] }),
    });
    return this.send('PanelWord', JSON.parse(JSON.stringify(word)), 'actor');
  }

  /** Input of the model in its last round. */
  get conversation(): JsonObject[] {
    const { messages } = this.last('model.generate').request.input;
    return JSON.parse(JSON.stringify(messages));
  }

  /** Tool answers of the last turn, in the form that the model gets. */
  get told(): string[] {
    const lastTurn = this.conversation.findLastIndex(({ role }) => role === 'assistant');
    return this.conversation.slice(lastTurn + 1).map(({ content }) => String(content));
  }

  get records(): JsonObject[] {
    return this.sent('Record').map(({ payload }) => JSON.parse(JSON.stringify(payload.body)));
  }

  get errors(): string[] {
    return this.payloads('iteration_failed').map(({ error }) => (error as { error_type: string }).error_type);
  }
}
