import { z } from 'zod';
import { ToolRun } from '../../../manifests/tool/call.ts';
import { ToolOffer } from '../../../manifests/tool/scope.ts';
import { jsonObjectField } from '../../../runtime/json.ts';

/** What of a call goes into the conversation. */
const CallAnswer = z.object({
  content: z.string(),
  /** The whole result in Blobs, where `content` holds its beginning. */
  content_ref: z.string().optional(),
  is_error: z.boolean(),
});

export type CallAnswer = z.infer<typeof CallAnswer>;

/** A call that policy allowed. */
const AllowedCall = z.object({
  arguments: jsonObjectField,
  offer: ToolOffer.omit({ description: true, input_schema: true }),
  limits: ToolRun.shape.limits,
});

export type AllowedCall = z.infer<typeof AllowedCall>;

/**
 * One call of the model's turn: waiting → (judging →) running or dispatched → answered. Denied ones are answered at once.
 */
export const LoopCall = z.object({
  /** Unique in the execution, for the audit chain. */
  key: z.string(),
  /** The model's, unique in its turn. */
  id: z.string(),
  name: z.string(),
  status: z.enum(['waiting', 'judging', 'running', 'dispatched', 'answered']),
  /** Null once it is answered. */
  allowed: AllowedCall.nullable(),
  payload_hash: z.string(),
  /** Judges that have let it pass. */
  judged: z.number().int(),
  panel_id: z.string().optional(),
  effect_id: z.string().optional(),
  dispatch_id: z.string().optional(),
  answer: CallAnswer.nullable(),
});

export type LoopCall = z.infer<typeof LoopCall>;

/** The inner loop of the running iteration: model → calls → model … → final. */
export const Loop = z.object({
  /** Who began it: the node, or a bootstrap over the dispatch gateway. */
  by: z.enum(['node', 'gateway']),
  /** Hash of what the bootstrap asked: the same again is the same loop. */
  request: z.string(),
  model: z.string(),
  /** Rounds with the model, the running one included. */
  round: z.number().int(),
  /** Rounds of this iteration that are not among them: of earlier conversations, and those asked again. */
  earlier_rounds: z.number().int().default(0),
  phase: z.enum(['granting', 'model', 'calls', 'final', 'failed']),
  /** Of the phases granting and model. */
  effect_id: z.string().nullable(),
  /** Messages of `model.generate`, without the node's own system message. Bounded (conversation.ts). */
  messages: z.array(jsonObjectField),
  /** What was said before them, in Blobs: every commit writes the state, so it holds what came last (decision 0015). */
  earlier_messages: z.array(z.object({ ref: z.string(), bytes: z.number().int() })).optional(),
  calls: z.array(LoopCall),
  /** Calls that really ran. */
  executed: z.number().int(),
  ended_dispatches: z.array(z.string()),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
});

export type Loop = z.infer<typeof Loop>;

/** A call of which nobody knows whether it acted (E2). */
export const CallInDoubt = z.object({
  tool: z.string(),
  call: z.string(),
  iteration: z.number().int(),
  round: z.number().int(),
});

export type CallInDoubt = z.infer<typeof CallInDoubt>;

/** What judges are told of an earlier call (`tool_audit_history`, W27). Texts are cut. */
export const ToolHistory = z.object({
  tool: z.string(),
  arguments: z.string(),
  status: z.enum(['succeeded', 'failed', 'denied', 'in_doubt']),
  result: z.string(),
});

export type ToolHistory = z.infer<typeof ToolHistory>;

/** Bounds of one inner loop. Counted as limits.ts of the execution says. */
export const LOOP = {
  /** Rounds with the model (W28); one more fails the iteration. */
  rounds: 50,
  /** Of all conversations that a bootstrap begins in one iteration; then it may begin none, and ask for no failed one again. */
  roundsOfIteration: 500,
  /** Calls of one turn that go into the conversation at all; what a model says beyond it is left out. */
  callsInConversation: 100,
  /** Calls of one turn that are looked at; the rest is answered with an error. */
  callsPerTurn: 32,
  /** Calls that only read and run side by side. */
  readsAtOnce: 8,
  /** Arguments of all calls of one turn; what is over is answered with an error. */
  argumentBytes: 2 * 1024 * 1024,
  /** The conversation in the state; over it the oldest results and arguments are left out, and it says so. */
  conversationBytes: 2 * 1024 * 1024,
  /** One result inside the conversation; a longer one is by reference, or cut. */
  resultChars: 32 * 1024,
  /** Text that a model says beside its calls. */
  assistantChars: 64 * 1024,
  /** Tools a model is offered, and their descriptions. */
  tools: 1_000,
  descriptionChars: 8 * 1024,
  /** Longest a call may take that has no ceiling of its own. */
  callTimeoutMs: 630_000,
  /** Beside the ceiling of a command: its start and its end. */
  commandMarginMs: 10_000,
  /** What judges are told of earlier calls: how many, and how much of each. */
  history: 30,
  historyChars: 500,
  /** Calls in doubt and attested sessions that are kept. */
  inDoubt: 100,
  sessions: 64,
  /** Dispatches whose end was told, kept so that telling it again is harmless. */
  endedDispatches: 200,
  /** Of a command dispatched without a ceiling (W28). */
  dispatchSecs: 60,
  dispatchOutputBytes: 524_288,
} as const;

/** One message a bootstrap begins its conversation with (W28), as `model.generate` takes it. */
export const Said = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({
    role: z.literal('assistant'),
    content: z
      .string()
      .nullish()
      .transform((text) => text ?? ''),
    tool_calls: z
      .array(z.object({ id: z.string().min(1).max(200), name: z.string().min(1).max(200), arguments: jsonObjectField }))
      .max(100)
      .optional(),
  }),
  z.object({
    role: z.literal('tool'),
    content: z.string(),
    tool_call_id: z.string().max(200),
    tool_name: z.string().max(200).default('tool'),
  }),
]);
