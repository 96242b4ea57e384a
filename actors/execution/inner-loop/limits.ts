/** Bounds of one inner loop. Counted as limits.ts of the execution says. */
export const LOOP = {
  /** Rounds with the model (original-facts 6.4); one more fails the iteration. */
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
  /** Of a command dispatched without a ceiling (original-facts 13.2). */
  dispatchSecs: 60,
  dispatchOutputBytes: 524_288,
} as const;
