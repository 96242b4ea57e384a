import { z } from 'zod';
import { ToolRun } from '../../../manifests/tool/call.ts';
import { ToolOffer } from '../../../manifests/tool/scope.ts';
import { jsonObjectField } from '../../../runtime/json.ts';

/** Result of a call in the conversation. */
const CallAnswer = z.object({
  content: z.string(),
  /** Blob with the whole result, when `content` has only its beginning. */
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
 * One call that the model asked for: waiting → (judging →) running or dispatched → answered. A denied call is answered
 * at once.
 */
export const LoopCall = z.object({
  /** Unique in the execution, for the audit chain. */
  key: z.string(),
  /** The model's id, unique among the calls of one answer. */
  id: z.string(),
  name: z.string(),
  status: z.enum(['waiting', 'judging', 'running', 'dispatched', 'answered']),
  /** Null once it is answered. */
  allowed: AllowedCall.nullable(),
  payload_hash: z.string(),
  /** Number of judges that have passed it. */
  judged: z.number().int(),
  panel_id: z.string().optional(),
  effect_id: z.string().optional(),
  dispatch_id: z.string().optional(),
  answer: CallAnswer.nullable(),
});

export type LoopCall = z.infer<typeof LoopCall>;

/** The inner loop of the running iteration: model → calls → model … → final. */
export const Loop = z.object({
  /** The starter: the node, or a bootstrap over the dispatch gateway. */
  by: z.enum(['node', 'gateway']),
  /** Hash of the bootstrap's request: a repeated request finds the same loop. */
  request: z.string(),
  model: z.string(),
  /** Rounds with the model, the running one included. */
  round: z.number().int(),
  /** Earlier rounds of this iteration: of previous conversations, and rounds that were requested again. */
  earlier_rounds: z.number().int().default(0),
  phase: z.enum(['granting', 'model', 'calls', 'final', 'failed']),
  /** Set in the phases granting and model. */
  effect_id: z.string().nullable(),
  /** Messages of `model.generate`, without the node's own system message. Bounded (`bounded` in ask.ts). */
  messages: z.array(jsonObjectField),
  /**
   * Blobs with the messages before these. Every commit writes the state, so it holds only the newest messages (decision
   * 0015).
   */
  earlier_messages: z.array(z.object({ ref: z.string(), bytes: z.number().int() })).optional(),
  calls: z.array(LoopCall),
  /** Number of calls that have run. */
  executed: z.number().int(),
  ended_dispatches: z.array(z.string()),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
});

export type Loop = z.infer<typeof Loop>;

/** A call of which it is unknown whether it acted (E2). */
export const CallInDoubt = z.object({
  tool: z.string(),
  call: z.string(),
  iteration: z.number().int(),
  round: z.number().int(),
});

export type CallInDoubt = z.infer<typeof CallInDoubt>;

/** An earlier call as judges see it (`tool_audit_history`, W27). Texts are cut. */
export const ToolHistory = z.object({
  tool: z.string(),
  arguments: z.string(),
  status: z.enum(['succeeded', 'failed', 'denied', 'in_doubt']),
  result: z.string(),
});

export type ToolHistory = z.infer<typeof ToolHistory>;

/** Limits of one inner loop, in the units that the names in the execution's limits.ts use. */
export const LOOP = {
  /** Rounds with the model (W28); one more fails the iteration. */
  rounds: 50,
  /**
   * Rounds of all conversations that a bootstrap begins in one iteration. After these no conversation begins and no failed
   * round is repeated.
   */
  roundsOfIteration: 500,
  /** Calls of one answer that enter the conversation; the rest are dropped. */
  callsInConversation: 100,
  /** Calls of one answer that may run; the rest get an error as their result. */
  callsPerTurn: 32,
  /** Read-only calls that run in parallel. */
  readsAtOnce: 8,
  /** Arguments of all calls of one answer; calls beyond it get an error as their result. */
  argumentBytes: 2 * 1024 * 1024,
  /** The conversation in the state. Beyond it the oldest results and arguments are replaced by a note. */
  conversationBytes: 2 * 1024 * 1024,
  /** One result in the conversation; a longer one is stored as a blob, or cut. */
  resultChars: 32 * 1024,
  /** Text of the model's answer beside its calls. */
  assistantChars: 64 * 1024,
  /** Tools that a model is offered, and their descriptions. */
  tools: 1_000,
  descriptionChars: 8 * 1024,
  /** Time limit of a call that has none of its own. */
  callTimeoutMs: 630_000,
  /** Added to the time of a command, for its start and its end. */
  commandMarginMs: 10_000,
  /** Earlier calls that judges see, and the length of each. */
  history: 30,
  historyChars: 500,
  /** Calls in doubt, and attested sessions, that are kept. */
  inDoubt: 100,
  sessions: 64,
  /** Ended dispatches that are remembered, so that a repeated report changes nothing. */
  endedDispatches: 200,
  /** Limits of a dispatched command that has none of its own (W28). */
  dispatchSecs: 60,
  dispatchOutputBytes: 524_288,
} as const;

/** One message of the conversation that a bootstrap begins with (W28), as `model.generate` takes it. */
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
