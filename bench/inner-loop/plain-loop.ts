import { proposedCalls } from '../../actors/execution/handlers/model.ts';
import { askingMessage, SYSTEM_MESSAGE, toolMessages, userMessage } from '../../actors/execution/inner-loop/ask.ts';
import { outcomeAnswer } from '../../actors/execution/inner-loop/settle-call.ts';
import { ModelAnswer } from '../../actors/execution/model-answer.ts';
import { ToolOutcome, type ToolRun } from '../../manifests/tool/call.ts';
import type { ToolPolicy } from '../../manifests/tool/decision.ts';
import { GrantRequest, ToolGrant } from '../../manifests/tool/scope.ts';
import { addressOf } from '../../runtime/address.ts';
import type { EffectContext, EffectHandler } from '../../runtime/effect.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { IDENTITY, TENANT, type Variant } from './agent.ts';

/** An effect's handler, called like a function. */
type Call = (kind: string, input: unknown) => Promise<unknown>;

/**
 * The loop without durability: the same model, policy and handlers, called one after the other in this process, without
 * actor, queue or store.
 */
export async function plainLoop(
  handlers: readonly EffectHandler[],
  policy: ToolPolicy,
  execution: string,
  variant: Variant,
): Promise<void> {
  const call = callerOf(handlers, execution);
  const request = { manifest: [{ name: 'fs.*', config: {} }], network: null, filesystem: null };
  const grant = ToolGrant.parse(await call('tools.grant', GrantRequest.parse(request)));
  const tools = grant.tools.map(({ name, description, input_schema }) => ({ name, description, input_schema }));
  const { kind, subject, tier } = IDENTITY;
  const input = { model: 'default', system: SYSTEM_MESSAGE, tools, iteration: 1, principal: { kind, subject, tier } };
  let messages: JsonObject[] = [userMessage(variant)];
  for (;;) {
    const answer = ModelAnswer.parse(await call('model.generate', { ...input, messages }));
    if (answer.tool_calls.length === 0) return;
    const proposed = proposedCalls(answer.tool_calls);
    const answered = [];
    for (const { id, name, arguments: given } of proposed) {
      const decision = policy.decide(grant, { name, arguments: given });
      if (!decision.allowed) throw new Error(decision.message);
      const run = runOf(grant, execution, decision.offer, decision.arguments, decision.limits);
      const outcome = ToolOutcome.parse(await call('tool.call', run));
      if (outcome.is_error) throw new Error(outcome.error?.message);
      answered.push({ id, name, answer: outcomeAnswer(outcome) });
    }
    const asking = askingMessage(
      answer.text,
      proposed.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    );
    messages = [...messages, asking, ...toolMessages(answered)];
  }
}

function callerOf(handlers: readonly EffectHandler[], execution: string): Call {
  const byKind = new Map(handlers.map((handler) => [handler.kind, handler]));
  const context: EffectContext = {
    ...{ effectId: 'plain', attempt: 1, tenant: TENANT, address: addressOf('execution', TENANT, execution), trace: '' },
    signal: new AbortController().signal,
    progress: async () => true,
    parked: (waiting) => waiting,
    retryWhileUnavailable: (call) => call(),
    waitedFor: () => {
      throw new Error('no handler of this loop waits');
    },
  };
  return async (kind, input) => {
    const handler = byKind.get(kind);
    if (handler === undefined) throw new Error(`no effect ${kind}`);
    return handler.run(handler.input.parse(input), context);
  };
}

function runOf(
  grant: ToolGrant,
  execution: string,
  offer: ToolGrant['tools'][number],
  given: ToolRun['arguments'],
  limits: object,
): object {
  const { tools: _tools, ...scope } = grant;
  const { kind, subject, roles, tier } = IDENTITY;
  return {
    ...{ tool: offer.name, arguments: given, schema_hash: offer.schema_hash, scope, limits },
    subject: {
      ...{ execution_id: execution, agent_id: 'plain', session_id: execution, mounts: [], isolation: 'process' },
      principal: { kind, subject, roles, tier },
    },
  };
}
